/** Stores: a page's knowledge of the server, outside of React. A store works while it has a reader. */
import { useSyncExternalStore } from "react"

export abstract class Store {
  /** Grows with each change. */
  version = 0
  private readonly listeners = new Set<() => void>()
  private isScheduled = false

  /** Called when it has a reader. */
  protected abstract start(): void

  /** Called when its last reader has left. */
  protected abstract stop(): void

  readonly subscribe = (listener: () => void): () => void => {
    this.listeners.add(listener)
    if (this.listeners.size === 1) this.start()
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0) this.stop()
    }
  }

  readonly snapshot = (): number => this.version

  /** React is notified once a frame, regardless of the number of changes. */
  protected changed(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    const tell = (): void => {
      this.isScheduled = false
      this.version++
      for (const listener of this.listeners) listener()
    }
    // A page in the background has no frames.
    if (document.hidden) setTimeout(tell, 250)
    else requestAnimationFrame(tell)
  }
}

/** Renders again when the store changes. */
export const useStore = <S extends Store>(store: S): S => {
  useSyncExternalStore(store.subscribe, store.snapshot)
  return store
}

/** Asks a server again and again, while it is looked at and the page is seen. */
export abstract class Polled extends Store {
  problem: string | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private controller = new AbortController()
  private readonly every: number

  constructor(every: number) {
    super()
    this.every = every
  }

  protected abstract load(signal: AbortSignal): Promise<void>

  /** Asks now. */
  readonly refresh = (): void => {
    clearTimeout(this.timer)
    void this.poll(this.controller.signal)
  }

  protected start(): void {
    this.controller = new AbortController()
    this.refresh()
  }

  protected stop(): void {
    this.controller.abort()
    clearTimeout(this.timer)
  }

  private async poll(signal: AbortSignal): Promise<void> {
    try {
      if (!document.hidden || this.version === 0) await this.load(signal)
      this.problem = undefined
    } catch (error) {
      if (!signal.aborted) this.problem = (error as Error).message
    }
    if (signal.aborted) return
    this.changed()
    clearTimeout(this.timer)
    this.timer = setTimeout(this.refresh, this.every)
  }
}
