/** The key that snapshots are signed with within a process of the kit. */
import { Redacted } from "effect"
import { Approval } from "@recourse/core"

export const snapshotKey = Approval.layerKey(Redacted.make("a key for simulations of thirty-two bytes or more"))
