/** Payments that the banks of a composition have made, the texts that were answered, and the reports. */
import { Context } from "effect"

/** The banks. */
export type Bank = "A" | "B"

/** A step within a call of the outer model. */
export interface Place {
  readonly root: string
  readonly step: string
}

/** The step in which a call is made. */
export const CurrentPlace: Context.Reference<Place | undefined> = Context.Reference<Place | undefined>(
  "@recourse/testing/compositions/CurrentPlace",
  { defaultValue: () => undefined }
)

/** One execution of a payment. */
export interface Payment {
  readonly bank: Bank
  readonly order: string
  readonly callId: string
  readonly key: string | undefined
  readonly place: Place
  /** The process that executed it, and the number of events before it. */
  readonly process: number
  readonly after: number
  receipt: string | undefined
  state: "running" | "ok" | "declined" | "failed"
}

/** An answer of a step that names the bank which paid, and the bank that it asked. */
export interface Answered {
  readonly bank: Bank
  readonly text: string
}

/** The world of a composition, which outlives its processes. */
export class Payments {
  readonly all: Array<Payment> = []
  readonly answers: Array<Answered> = []
  /** Keys of the compensations of each receipt, and the receipts that are compensated. */
  readonly compensating = new Map<string, Set<string>>()
  readonly compensated = new Set<string>()
  /** Calls that a run has reported as not compensated. */
  readonly reported: Array<string> = []
  /** Executions of the tool `do`, compensations without a key, and failures of models that are to come. */
  executions = 0
  compensations = 0
  failures: number
  private readonly receipts = new Map<string, string>()
  private given = 0

  constructor(failures: number) {
    this.failures = failures
  }

  /** The bank pays, once for each key. */
  pay(payment: Payment, key: string | undefined): string {
    const id = key === undefined ? `#${this.all.indexOf(payment)}` : `${payment.bank} ${key}`
    const receipt = this.receipts.get(id) ?? `receipt-${payment.bank}-${++this.given}`
    this.receipts.set(id, receipt)
    payment.receipt = receipt
    return receipt
  }

  /** True if the bank has paid under a key. */
  hasPaid(bank: Bank, key: string | undefined): boolean {
    return key !== undefined && this.receipts.has(`${bank} ${key}`)
  }

  /** The bank takes a payment back. */
  compensate(receipt: string, key: string): void {
    this.compensating.set(receipt, (this.compensating.get(receipt) ?? new Set()).add(key))
    this.compensated.add(receipt)
    for (const [id, given] of this.receipts) if (given === receipt) this.receipts.delete(id)
  }
}
