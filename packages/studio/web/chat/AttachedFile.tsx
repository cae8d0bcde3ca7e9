/** A file of a message. Pictures are shown; other files are named, and can be saved. */
import type { FileUIPart } from "ai"
import { Icon } from "../shared/Icon.tsx"

const isPicture = ({ mediaType, url }: FileUIPart): boolean =>
  /^image\/(?:png|jpeg|gif|webp)$/.test(mediaType) && /^data:image\/(?:png|jpeg|gif|webp);base64,/.test(url)

const isData = (url: string): boolean => /^data:[\w.+-]+\/[\w.+-]+;base64,/.test(url)

export const AttachedFile = ({ file }: { readonly file: FileUIPart }) => {
  const name = file.filename ?? file.mediaType
  if (isPicture(file)) return <img className="picture" src={file.url} alt={file.filename ?? "Attached picture"} />
  return isData(file.url)
    ? (
      <a className="file" href={file.url} download={file.filename ?? "file"}>
        <Icon name="file" /> {name}
      </a>
    )
    : (
      <span className="file">
        <Icon name="file" /> {name}
      </span>
    )
}
