/** The front page: the first part of the repository's README, up to its mark. */
import { readPage } from "./markdown.ts"
import { hasPlayground } from "./sidebar.ts"

/** Ends the part of the README that is the front page. */
const mark = "<!-- The front page of the site ends here. -->"

export const frontPage = (readme: string, base: string) => {
  const end = readme.indexOf(mark)
  if (end < 0) throw new Error(`README.md has no line ${mark}`)
  const { text, title } = readPage("README.md", readme.slice(0, end), base)
  const [tagline = "", ...rest] = text.trim().split("\n\n")
  return {
    title,
    text: rest.join("\n\n"),
    template: "splash",
    hero: {
      title,
      tagline: tagline.replaceAll("\n", " "),
      actions: [
        { text: "Quickstart", link: `${base}quickstart/`, icon: "right-arrow" },
        ...(hasPlayground() ? [{ text: "Playground", link: `${base}playground/`, variant: "secondary" }] : []),
        { text: "Source", link: "https://github.com/recourse-ts/recourse", icon: "github", variant: "minimal" }
      ]
    }
  }
}
