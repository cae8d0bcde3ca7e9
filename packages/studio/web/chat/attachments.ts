/** Attachments: files of a message, in `data:` addresses. */
import type { FileUIPart } from "ai"

const accepts = (types: ReadonlyArray<string>, type: string): boolean =>
  types.some((accepted) =>
    accepted === type || accepted === "*/*" || (accepted.endsWith("/*") && type.startsWith(accepted.slice(0, -1)))
  )

const kilobytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1024)).toLocaleString("en")} kB`

/** Base64 makes three bytes four characters; the rest of the request has room, too. */
export const roomFor = (maxBodyBytes: number): number => Math.max(0, Math.floor((maxBodyBytes - 32_768) * 3 / 4))

const read = (file: File): Promise<FileUIPart> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read.`)))
    reader.addEventListener("load", () =>
      resolve({ type: "file", mediaType: file.type, filename: file.name, url: String(reader.result) }))
    reader.readAsDataURL(file)
  })

/** The files as parts of a message, and a sentence for each that cannot be attached. */
export const attach = async (
  files: ReadonlyArray<File>,
  options: { readonly types: ReadonlyArray<string>; readonly room: number }
): Promise<{ readonly parts: ReadonlyArray<FileUIPart>; readonly problems: ReadonlyArray<string> }> => {
  let { room } = options
  const parts: Array<FileUIPart> = []
  const problems: Array<string> = []
  for (const file of files) {
    if (!accepts(options.types, file.type)) problems.push(`${file.name} is of a type that this agent does not take.`)
    else if (file.size > room) {
      problems.push(`${file.name} is too large: ${kilobytes(file.size)}, and there is room for ${kilobytes(room)}.`)
    } else {
      room -= file.size
      parts.push(await read(file))
    }
  }
  return { parts, problems }
}

/** The size of an attached file, in bytes. */
export const sizeOf = ({ url }: FileUIPart): number => Math.floor((url.length - url.indexOf(",") - 1) * 3 / 4)
