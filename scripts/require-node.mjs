/** Says what is missing where Node is too old to run the sources, which are TypeScript. Plain JavaScript, for that Node. */
const [major, minor] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `Recourse's sources need Node 22.19 or newer, and this is Node ${process.versions.node} on ${process.platform}-${process.arch}. ` +
      "`pnpm install` brings Node 24 along on linux-x64, linux-arm64 and win32-x64 (unless it was run with --no-optional); " +
      "on other platforms install Node 24 and run the command again.\n"
  )
  process.exit(1)
}
