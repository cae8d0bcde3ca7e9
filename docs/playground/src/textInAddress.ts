/** The edited text of agent.ts in the fragment of an address: compressed, in characters that need no escape. */

const prefix = "#agent="

/** Most characters of a fragment. Longer addresses are cut by chats and mail programs. */
export const longestFragment = 8_000

const longestText = 100_000

const through = (bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<ArrayBuffer> =>
  new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer()

/** Returns the fragment of a text; `undefined` if it is longer than `longestFragment`. */
export const encodeText = async (text: string): Promise<string | undefined> => {
  if (text.length > longestText) return undefined
  const bytes = new Uint8Array(await through(text, new CompressionStream("deflate-raw")))
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")
  const fragment = prefix + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  return fragment.length > longestFragment ? undefined : fragment
}

/** Returns the text of a fragment; `undefined` if the fragment holds none. Rejects if it is damaged or too long. */
export const decodeText = async (fragment: string): Promise<string | undefined> => {
  if (!fragment.startsWith(prefix)) return undefined
  if (fragment.length > longestFragment) throw new Error(`The fragment has more than ${longestFragment} characters`)
  const binary = atob(fragment.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/"))
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  const text = new TextDecoder("utf-8", { fatal: true }).decode(
    await through(bytes, new DecompressionStream("deflate-raw"))
  )
  if (text.length > longestText) throw new Error(`The text has more than ${longestText} characters`)
  return text
}
