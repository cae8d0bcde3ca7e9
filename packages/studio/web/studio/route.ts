/** Where the reader is: the hash of the address, so that each view can be linked and the browser's back works. */
import { useSyncExternalStore } from "react"

export type Route =
  | { readonly page: "runs"; readonly runId: string | undefined }
  | { readonly page: "approvals" }
  | { readonly page: "compare"; readonly left: string; readonly right: string | undefined }

const parse = (hash: string): Route => {
  const [page, first, second] = hash.replace(/^#\/?/, "").split("/").map((part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  if (page === "approvals") return { page }
  if (page === "compare" && first !== undefined && first !== "") return { page, left: first, right: second }
  return { page: "runs", runId: page === "runs" && first !== "" ? first : undefined }
}

/** The address of a view. */
export const hrefOf = (route: Route): string => {
  switch (route.page) {
    case "approvals":
      return "#/approvals"
    case "compare":
      return `#/compare/${encodeURIComponent(route.left)}${
        route.right === undefined ? "" : `/${encodeURIComponent(route.right)}`
      }`
    case "runs":
      return route.runId === undefined ? "#/runs" : `#/runs/${encodeURIComponent(route.runId)}`
  }
}

export const go = (route: Route): void => {
  location.hash = hrefOf(route)
}

const subscribe = (listener: () => void) => {
  addEventListener("hashchange", listener)
  return () => removeEventListener("hashchange", listener)
}

export const useRoute = (): Route => parse(useSyncExternalStore(subscribe, () => location.hash))
