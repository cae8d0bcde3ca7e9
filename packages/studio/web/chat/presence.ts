/** Presence: when the page comes and goes, and when the network does. */

/** A hidden tab gives its connection back: a browser opens six to a server, and a run does not need it. */
const hiddenAfter = 2000

/** Callbacks of presence. */
export interface Presence {
  readonly onOnline: () => void
  readonly onOffline: () => void
  /** The page is hidden for some time. */
  readonly onHidden: () => void
  /** The page is seen again. */
  readonly onSeen: () => void
}

/** Calls back until the returned function is called. */
export const followPresence = ({ onHidden, onOffline, onOnline, onSeen }: Presence): () => void => {
  let hiding: ReturnType<typeof setTimeout> | undefined
  const onVisibility = (): void => {
    clearTimeout(hiding)
    if (document.visibilityState === "hidden") hiding = setTimeout(onHidden, hiddenAfter)
    else onSeen()
  }
  addEventListener("online", onOnline)
  addEventListener("offline", onOffline)
  document.addEventListener("visibilitychange", onVisibility)
  return () => {
    clearTimeout(hiding)
    removeEventListener("online", onOnline)
    removeEventListener("offline", onOffline)
    document.removeEventListener("visibilitychange", onVisibility)
  }
}
