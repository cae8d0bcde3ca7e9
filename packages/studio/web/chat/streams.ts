/**
 * Streams of all tabs. A browser opens six connections to a server (over HTTP/1.1), and each run that is followed holds one. Tabs
 * share four of them, so that there is always room for the next request; a tab without a stream asks from time to time.
 */

const slots = 4

/**
 * Takes one of the streams; `undefined` if all are taken. Without locks (origins that are not secure), streams are not
 * counted.
 */
export const takeStream = async (): Promise<(() => void) | undefined> => {
  const { locks } = navigator as Partial<Navigator>
  if (locks === undefined) return () => {}
  for (let slot = 0; slot < slots; slot++) {
    const release = await new Promise<(() => void) | undefined>((taken) => {
      void locks.request(`recourse.stream.${slot}`, { ifAvailable: true }, (lock) => {
        if (lock === null) {
          taken(undefined)
          return undefined
        }
        return new Promise<void>((release) => taken(release))
      })
    })
    if (release !== undefined) return release
  }
  return undefined
}

/** All streams are taken: the run continues, and the page reads it later. */
export class NoStream extends Error {
  override readonly name = "NoStream"
}
