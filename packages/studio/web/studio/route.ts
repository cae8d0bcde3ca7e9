/**
 * The reader's place: the hash of the address, so that each view can be linked and the browser's back works. It
 * includes the filter of the list, the tab and the step.
 */
import { useSyncExternalStore } from "react"

export type View =
  | { readonly page: "runs"; readonly runId: string | undefined }
  | { readonly page: "overview" }
  | { readonly page: "approvals" }
  | { readonly page: "checks" }
  | { readonly page: "compare"; readonly left: string; readonly right: string | undefined }

/** Further values of a view: filters, a tab, a step. */
export type Told = Readonly<Record<string, string>>

export type Route = View & { readonly told: Told }

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const viewOf = (path: string): View => {
  const [page, first, second] = path.split("/").map(decoded)
  if (page === "approvals" || page === "checks" || page === "overview") return { page }
  if (page === "compare" && first !== undefined && first !== "") return { page, left: first, right: second }
  return { page: "runs", runId: page === "runs" && first !== "" ? first : undefined }
}

const parse = (hash: string): Route => {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s)
  return { ...viewOf(path), told: Object.fromEntries(new URLSearchParams(query)) }
}

const pathOf = (view: View): string => {
  switch (view.page) {
    case "compare":
      return `#/compare/${encodeURIComponent(view.left)}${
        view.right === undefined ? "" : `/${encodeURIComponent(view.right)}`
      }`
    case "runs":
      return view.runId === undefined ? "#/runs" : `#/runs/${encodeURIComponent(view.runId)}`
    default:
      return `#/${view.page}`
  }
}

/** The address of a view. Empty values are left out. */
export const hrefOf = (view: View, told: Told = {}): string => {
  const query = new URLSearchParams(Object.entries(told).filter(([, value]) => value !== ""))
  return query.size === 0 ? pathOf(view) : `${pathOf(view)}?${query}`
}

export const go = (view: View, told?: Told): void => {
  location.hash = hrefOf(view, told)
}

/** Changes the values of the view, without a step for the browser's back. */
export const tell = (change: Told): void => {
  const { told, ...view } = parse(location.hash)
  history.replaceState(null, "", hrefOf(view, { ...told, ...change }))
  dispatchEvent(new HashChangeEvent("hashchange"))
}

const subscribe = (listener: () => void) => {
  addEventListener("hashchange", listener)
  return () => removeEventListener("hashchange", listener)
}

export const useRoute = (): Route => parse(useSyncExternalStore(subscribe, () => location.hash))
