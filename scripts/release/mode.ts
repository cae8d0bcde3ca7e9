/** Modes of a release. Without a mode it does nothing, so that a forgotten or misspelt flag publishes no package. */

export const usage = `Usage: pnpm release --dry-run [--record]
       pnpm release --publish

  --dry-run  builds, packs and checks the packages, and publishes nothing
  --record   records the sizes of the packages
  --publish  does the same as --dry-run, and publishes the packages
`

export type Mode = "dry-run" | "record" | "publish"

const modes: ReadonlyMap<string, Mode> = new Map([
  ["--dry-run", "dry-run"],
  ["--dry-run --record", "record"],
  ["--record --dry-run", "record"],
  ["--publish", "publish"]
])

/** Returns the mode that the arguments name. Any other list of arguments is refused. */
export const modeOf = (args: ReadonlyArray<string>): Mode | undefined => modes.get(args.join(" "))
