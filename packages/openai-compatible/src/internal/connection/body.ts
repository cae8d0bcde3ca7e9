/**
 * Body of an answer as a pull of its pieces, within the limits of silence. A Web body is read by its own reader, because effect's stream of it
 * aborts the request at each end, which makes an error with a stack. A piece that has arrived is read without a timer.
 */
import * as Arr from "effect/Array"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as IdleTimeout from "@recourse/core/IdleTimeout"

export type BodyPull = Pull.Pull<
  NonEmptyReadonlyArray<Uint8Array>,
  HttpClientError.HttpClientError | IdleTimeout.IdleTimeoutError
>

type Piece = ReadableStreamReadResult<Uint8Array>

/** Reads pieces, without an effect for those that have arrived. */
class Pieces {
  /** The read that waits for the next piece. */
  reading: Promise<Piece> | undefined
  hasEnded = false
  private next: Piece | undefined
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.reader = reader
  }

  private begin(): void {
    if (this.reading !== undefined) return
    this.reading = this.reader.read()
    // `pull` waits for the same promise, and reports its failure.
    this.reading.then((piece) => this.next = piece, () => {})
  }

  /** Ends a read: its bytes, or none at the end. */
  take({ done, value }: Piece): ReadonlyArray<Uint8Array> {
    this.reading = this.next = undefined
    this.hasEnded = done
    return done ? [] : [value]
  }

  /** The bytes that have arrived: none at the end, and none while the next piece is still being read. */
  async arrived(most: number): Promise<ReadonlyArray<Uint8Array>> {
    const pieces: Array<Uint8Array> = []
    while (!this.hasEnded && pieces.length < most) {
      this.begin()
      // A reader answers within some turns of the queue of microtasks if its stream holds the next piece.
      for (let turn = 0; turn < 4 && this.next === undefined; turn++) await undefined
      if (this.next === undefined) break
      pieces.push(...this.take(this.next))
    }
    return pieces
  }
}

/** Cancels a body that is not read to its end, which aborts the request. */
const cancel = (reader: ReadableStreamDefaultReader<Uint8Array>): Effect.Effect<void> =>
  Effect.promise(() =>
    // `closed` resolves only if the cancel hook failed; a failed stream has reported its error.
    reader.cancel().catch((error: unknown) => reader.closed.then(() => Promise.reject(error), () => {}))
  )

/** A body that is read piece by piece. */
export interface Body {
  /** Opens the body at its first run. */
  readonly pull: BodyPull
  /** Ends the reading: cancels the unread rest. */
  readonly close: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void> | undefined
}

const webBody = (
  response: HttpClientResponse.HttpClientResponse,
  body: ReadableStream<Uint8Array>,
  limits: IdleTimeout.IdleTimeout,
  most: number
): Body => {
  const reader = body.getReader()
  const pieces = new Pieces(reader)
  const failed = (cause: unknown) =>
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.DecodeError({ request: response.request, response, cause })
    })
  const deliver = (bytes: ReadonlyArray<Uint8Array>): BodyPull =>
    Arr.isReadonlyArrayNonEmpty(bytes) ? Effect.succeed(bytes) : Cause.done()
  return {
    pull: Effect.flatMap(Effect.promise(() => pieces.arrived(most)), (bytes) => {
      const { reading } = pieces
      return reading === undefined || bytes.length > 0
        ? deliver(bytes)
        : Effect.flatMap(
          limits.wait(Effect.tryPromise({ try: () => reading, catch: failed })),
          (piece) => deliver(pieces.take(piece))
        )
    }),
    close: () => pieces.hasEnded ? undefined : cancel(reader)
  }
}

const streamBody = (
  response: HttpClientResponse.HttpClientResponse,
  limits: IdleTimeout.IdleTimeout
): Body => {
  const scope = Scope.makeUnsafe()
  let opened: BodyPull | undefined
  const open = Effect.map(Scope.provide(Stream.toPull(response.stream), scope), (pull) => opened = pull)
  return {
    pull: Effect.suspend(() => limits.wait(opened ?? Effect.flatten(open))),
    close: (exit) => Scope.close(scope, exit)
  }
}

/**
 * The body of a response. It is opened at the first pull, so that an unread one needs no close. `most`: how many pieces
 * that have arrived are taken at once.
 */
export const make = (
  response: HttpClientResponse.HttpClientResponse,
  limits: IdleTimeout.IdleTimeout,
  most: number
): Body => {
  let body: Body | undefined
  return {
    pull: Effect.suspend(() => {
      if (body === undefined) {
        const web = Option.getOrUndefined(HttpClientResponse.toWeb(response))?.body ?? undefined
        body = web === undefined ? streamBody(response, limits) : webBody(response, web, limits, most)
      }
      return body.pull
    }),
    close: (exit) => body?.close(exit)
  }
}

/** The pieces of a body up to its largest size, the first of them read before. */
export const bounded = <E>(first: NonEmptyReadonlyArray<Uint8Array>, pull: BodyPull, options: {
  readonly maxBodySize: number
  readonly limits: IdleTimeout.IdleTimeout
  readonly tooLarge: () => E
  readonly broken: (error: HttpClientError.HttpClientError) => E
}): Pull.Pull<NonEmptyReadonlyArray<Uint8Array>, E | IdleTimeout.IdleTimeoutError> => {
  let size = 0
  let next: NonEmptyReadonlyArray<Uint8Array> | undefined = first
  const count = (
    pieces: NonEmptyReadonlyArray<Uint8Array>
  ): Effect.Effect<NonEmptyReadonlyArray<Uint8Array>, E> => {
    const fitting: Array<Uint8Array> = []
    for (const bytes of pieces) {
      size += bytes.length
      if (size <= options.maxBodySize) fitting.push(bytes)
    }
    options.limits.heard("ping")
    // The pieces that fit come out before the failure.
    return Arr.isArrayNonEmpty(fitting) ? Effect.succeed(fitting) : Effect.fail(options.tooLarge())
  }
  const rest = Effect.mapError(
    pull,
    (error) => Cause.isDone(error) || error._tag === "IdleTimeoutError" ? error : options.broken(error)
  )
  return Effect.suspend((): ReturnType<typeof bounded<E>> => {
    if (size > options.maxBodySize) return Effect.fail(options.tooLarge())
    if (next === undefined) return Effect.flatMap(rest, count)
    const pieces = next
    next = undefined
    return count(pieces)
  })
}
