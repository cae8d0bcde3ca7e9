/** Kind and name of a step; a name that contains its kind is shown once. */
import type { Span } from "@recourse/server/RunTimeline"

export const SpanName = ({ span: { kind, name } }: { readonly span: Span }) => (
  <>
    {name.startsWith(kind) ? null : (
      <>
        <span className="kind">{kind}</span>
        {" "}
      </>
    )}
    <span className="step-name">{name}</span>
  </>
)
