/** Paths of runs, agents and calls, and the keys of their entries. */
import { assert, describe, it } from "@effect/vitest"

type Make = (...parts: ReadonlyArray<unknown>) => string
type Is = (...parts: ReadonlyArray<string>) => boolean

const room = new URL("../../src/internal/path/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

const Path:
  & Readonly<
    Record<
      | "ofRun"
      | "ofAgent"
      | "ofStep"
      | "ofEqual"
      | "withoutNumber"
      | "ofCall"
      | "ofWrite"
      | "sibling"
      | "identityWithin",
      Make
    >
  >
  & Readonly<Record<"isBelow" | "isWithinCall" | "isOfCall", Is>>
  & { readonly agentsOf: (path: string) => ReadonlyArray<string> } = await load("path.ts")
const Key: Readonly<Record<string, Make>> = await load("entryKeys.ts")
const { StepNumbers }: {
  readonly StepNumbers: new() => { readonly next: (name: string) => { readonly id: string; readonly position: number } }
} = await load("stepNumbers.ts")

const made: ReadonlyArray<readonly [path: string, text: string]> = [
  [Path.ofRun("run_1"), "run_1"],
  [Path.ofRun("run_1/2:c1/5:clerk"), "run_1/2:c1/5:clerk"],
  // The id of a run reads like the path of a nested agent.
  [Path.ofRun("run_1/2:c1/5:clerk#1"), "run:run_1/2:c1/5:clerk#1"],
  [Path.ofRun("run_1/0:/5:clerk@0"), "run:run_1/0:/5:clerk@0"],
  [Path.ofCall("run_1", "pay", "c1"), "run_1/3:pay/c1"],
  [Path.identityWithin("c1", Path.sibling("pay", "{}"), 2), "c1/3:pay{}#2"],
  [Path.ofAgent("run_1", "c1", "clerk"), "run_1/2:c1/5:clerk"],
  [Path.ofStep("run_1/0:/5:clerk", 3), "run_1/0:/5:clerk@3"],
  [Path.ofEqual("run_1/2:c1/5:clerk", 2), "run_1/2:c1/5:clerk#2"],
  [Path.ofWrite("run_1/3:pay/c1", undefined), "run_1/3:pay/c1"],
  [Path.ofWrite("run_1/3:pay/c1", "c1"), "run_1/3:pay/c1@c1"],
  [Key["attemptOf"]!("c1", 2), "c1@2"],
  [Key["afterAttempts"]!("c1", 2), "c1@after 2"],
  [Key["callWithin"]!("c1", 2, "c1/3:pay{}#1"), "c1@2/c1/3:pay{}#1"],
  [Key["turnKey"]!("", 1), "/1"],
  [Key["callKey"]!("", "c1"), "/c1"],
  [Key["startKey"]!("run_1/3:pay/c1", 2), "run_1/3:pay/c1@2"],
  // The waits of a call and of a turn.
  [Path.ofEqual(Key["callKey"]!("", "c1"), 2), "/c1#2"],
  [Path.ofEqual(Key["turnKey"]!("", 1), 2), "/1#2"],
  [Key["announcedKey"]!("/1"), "told /1"],
  [Key["inTimeKey"]!("", "c1", 7), "in time /c1@7"],
  [Key["notHappenedKey"]!("w"), "not w"],
  [Key["compensationKey"]!("w"), "begun w"],
  [Key["auditedKey"]!("w"), "told w"],
  [Key["reportedKey"]!("w"), "reported w"]
]

describe("a path or key", () => {
  for (const [path, text] of made) {
    // Journals and snapshots of earlier versions hold these texts.
    it(`has the stored text ${text}`, () => assert.strictEqual(path, text))
  }

  it("loses its number, and no other one in it", () => {
    assert.strictEqual(Path.withoutNumber("/c1@1/c1/3:pay{}#1#12"), "/c1@1/c1/3:pay{}#1")
  })

  it("a step is numbered among those of its name, and among all", () => {
    const numbers = new StepNumbers()
    assert.deepStrictEqual(["clerk", "desk/a", "clerk", "desk/a"].map((name) => numbers.next(name)), [
      { id: "clerk", position: 0 },
      { id: "desk_a", position: 1 },
      { id: "clerk#2", position: 2 },
      { id: "desk_a#2", position: 3 }
    ])
  })

  it("a path lies below its outer path, and below no other", () => {
    assert.isTrue(Path.isBelow("run_1/3:pay/c1/3:pay{}#1", "run_1/3:pay/c1"))
    for (const outer of ["run_1/3:pay/c", "run_1/3:pay/c1/3:pay{}#1", "run_2"]) {
      assert.isFalse(Path.isBelow("run_1/3:pay/c1/3:pay{}#1", outer), outer)
    }
    assert.deepStrictEqual(Path.agentsOf("run_1/2:c1/5:clerk#1/4:c2#1/4:desk(x)#2/3:pay/c1"), [
      "run_1/2:c1/5:clerk",
      "run_1/2:c1/5:clerk#1/4:c2",
      "run_1/2:c1/5:clerk#1/4:c2#1/4:desk(x)"
    ])
    assert.deepStrictEqual(Path.agentsOf("run_1/3:pay/c1"), [])
  })

  it("a path belongs to its call under any name of the tool", () => {
    assert.isTrue(Path.isOfCall("r/12:a/c2/b:3:d e/c1", "r", "c1"))
    for (const path of ["r/3:pay/c2", "r/3:pay/c1/x", "q/3:pay/c1"]) {
      assert.isFalse(Path.isOfCall(path, "r", "c1"), path)
    }
  })
})
