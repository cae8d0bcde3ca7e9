/**
 * The command `recourse-studio --agents ./agents.ts`: serves agents in development, with the chat and the studio. It
 * restarts after each change of the module or of its imports.
 *
 * Only this machine reaches it, and whoever does may do everything.
 */
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { isFree, watch } from "./internal/dev/watch.ts"
export { CannotServe } from "./internal/dev/cannotServe.ts"

const config = {
  agents: Flag.File("agents", { mustExist: true }).pipe(
    Flag.withAlias("a"),
    Flag.withDescription("The module that exports the agents")
  ),
  port: Flag.Int("port").pipe(Flag.withDefault(4983), Flag.withDescription("The port. Default: 4983")),
  host: Flag.String("host").pipe(
    Flag.withDefault("127.0.0.1"),
    Flag.withDescription("The address to listen at. Default: 127.0.0.1, this machine only")
  ),
  data: Flag.Path("data").pipe(
    Flag.withDefault(".recourse"),
    Flag.withDescription("The folder in which conversations are kept. Default: .recourse")
  ),
  durable: Flag.Boolean("durable").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Keep runs in the folder, too: they continue when the command is started again. Default: no")
  ),
  preset: Flag.String("preset").pipe(
    Flag.optional,
    Flag.withDescription("A known model server, such as openai or ollama")
  ),
  model: Flag.String("model").pipe(Flag.optional, Flag.withDescription("Name of the model")),
  timeline: Flag.Boolean("timeline").pipe(
    Flag.withDefault(true),
    Flag.withDescription("Print the events of runs as they happen. Default: yes; --no-timeline")
  ),
  watch: Flag.Boolean("watch").pipe(
    Flag.withDefault(true),
    Flag.withDescription("Serve again after a change. Default: yes; --no-watch")
  )
}

/**
 * The command, for `Command.run` of `effect/cli`. `bin` is the program itself, which is started again after a change.
 *
 * @category commands
 * @since 0.2.0
 */
export const command = (bin: string) =>
  Command.make("recourse-studio", config, (options) =>
    Effect.gen(function*() {
      if (options.watch) {
        yield* isFree(options.host, options.port)
        return yield* watch(bin, process.argv.slice(2))
      }
      // The process that watches starts another one, and needs no server.
      const { serveAgents } = yield* Effect.promise(() => import("./internal/dev/serveAgents.ts"))
      return yield* serveAgents(options)
    })).pipe(Command.withDescription("Serves agents with a chat and a studio, for development"))
