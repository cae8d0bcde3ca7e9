import { z } from "zod"

export interface Answer {
  readonly text: string
  readonly calls: ReadonlyArray<{ readonly id: string; readonly arguments: string }>
}

const Parameters = z.object({ n: z.number() })

export const double = async (
  complete: (messages: ReadonlyArray<unknown>) => Promise<Answer>,
  question: string
): Promise<string> => {
  const messages: Array<unknown> = [{ role: "user", content: question }]
  while (true) {
    const answer = await complete(messages)
    if (answer.calls.length === 0) return answer.text
    messages.push({ role: "assistant", calls: answer.calls })
    for (const call of answer.calls) {
      const { n } = Parameters.parse(JSON.parse(call.arguments))
      messages.push({ role: "tool", id: call.id, content: n * 2 })
    }
  }
}
