import { createReadStream } from 'node:fs'
import {
  type Anchor,
  type Audit,
  type Charge,
  formatMoney,
  readAnchors,
  parseMoney,
  type PartialRefund,
  replayCharge,
  type Storage,
} from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'
import { withProgress } from '../progress.ts'

type VerifyOptions = Options & { readonly anchor?: string; readonly rebuildSums?: boolean }
type ReplayOptions = Options & { readonly rebuildSums?: boolean }
type Options = { readonly config: string; readonly format: string }

export async function verify(options: VerifyOptions): Promise<void> {
  const anchors = options.anchor === undefined ? [] : await readAnchorFile(options.anchor)
  if (options.rebuildSums === true) await rebuildSums(options)
  await withStorage(options.config, async storage => {
    const audit = await withProgress('verifying the ledger', async () => storage.books.verify(anchors))
    if (options.format === 'json') print(JSON.stringify(audit))
    else {
      for (const problem of [...audit.problems, ...audit.sums]) print(problem)
      if (audit.sums.length > 0)
        say('the charges are correct; `tollgate ledger replay --rebuild-sums` rebuilds their sums')
      if (audit.budgets > 0)
        say(
          `${audit.budgets} budgets do not match their charges: \`tollgate ledger replay --rebuild-sums\` corrects them`,
        )
      if (audit.left > 0) say(`${audit.left} charges are open and no gateway runs; the next start resolves them`)
      if (options.anchor !== undefined) say(`compared with ${anchors.length} anchors`)
      say(`${audit.charges} charges, ${audit.lines} lines, ${audit.entries} entries: ${audit.problems.length} problems`)
    }
    await recordResult(storage, audit)
    if (audit.problems.length + audit.sums.length > 0) throw new Exit(exitCodes.failure, '')
  })
}

/** Records the result for the console and webhooks, unless the storage cannot be written. */
async function recordResult({ events, watch }: Storage, { problems, sums }: Audit): Promise<void> {
  try {
    const found = [...problems, ...sums]
    const [first = ''] = found
    if (found.length > 0)
      return await events.addUnlessRepeated({
        kind: 'ledger.differs',
        data: { count: found.length, first: first.slice(0, 300) },
      })
    const ledgerAlerts = (await watch.alerts()).events.filter(({ kind }) => kind.startsWith('ledger.'))
    const last = ledgerAlerts.reduce<(typeof ledgerAlerts)[number] | undefined>(
      (a, b) => (a && a.id > b.id ? a : b),
      undefined,
    )
    if (last?.kind === 'ledger.differs') await events.addUnlessRepeated({ kind: 'ledger.verified', data: { count: 0 } })
  } catch {
    // The proof is valid without its event.
  }
}

/** @throws Exit 2 if it cannot be read or is empty: a verification without anchors would look valid */
async function readAnchorFile(file: string): Promise<readonly Anchor[]> {
  let anchors: readonly Anchor[]
  try {
    anchors = await readAnchors((file === '-' ? process.stdin : createReadStream(file)).setEncoding('utf8'))
  } catch (error) {
    throw new Exit(exitCodes.usage, `--anchor ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (anchors.length === 0) throw new Exit(exitCodes.usage, `--anchor ${file}: the file contains no anchor`)
  return anchors
}

export async function anchor(options: { readonly config: string }): Promise<void> {
  await withStorage(options.config, async storage => print(JSON.stringify(await storage.books.anchor())))
}

/** Rebuilds the sums of costs, and then budgets. An interrupted rebuild continues. */
async function rebuildSums(options: Options) {
  return withStorage(options.config, async (storage, { currency }) => {
    await withProgress('adding up charges', async progress => {
      for (
        let state = await storage.books.rebuildCosts();
        !state.isDone;
        state = await storage.books.rebuildCosts(state)
      )
        progress.report(
          `${state.added.toLocaleString('en')} of ${state.all.toLocaleString('en')} ledger positions added up`,
        )
    })
    say('costs are read from the new sums')
    const corrections = await withProgress('comparing budgets with charges', () => storage.books.repairBudgets(actor))
    if (!corrections)
      throw new Exit(
        exitCodes.failure,
        'budgets were not corrected: the charges have problems (see tollgate ledger verify)',
      )
    const budgets = corrections.map(({ payer, spent, held }) => ({
      ...payer,
      spent: formatMoney(spent),
      held: formatMoney(held),
    }))
    for (const { kind, name, spent, held } of budgets)
      say(`${kind} ${name}: ${spent} ${currency} added to its spending, ${held} ${currency} to its holds`)
    return budgets
  })
}

/** Rates every charge again from its stored data, with the plugin that rated it first. */
export async function replay(options: ReplayOptions): Promise<void> {
  if (options.rebuildSums === true) {
    const budgets = await rebuildSums(options)
    if (options.format === 'json') print(JSON.stringify({ rebuilt: true, budgets }))
    return
  }
  await withStorage(options.config, async (storage, plan) => {
    let charges = 0
    let different = 0
    await withProgress('replaying charges', async progress => {
      for (let after: string | null = null; ; ) {
        const page: readonly Charge[] = await storage.books.all(after, 500)
        for (const charge of page) {
          charges++
          const differences = await replayCharge(charge, plan)
          if (differences.length === 0) continue
          different++
          progress.clear()
          print(
            options.format === 'json'
              ? JSON.stringify({ id: charge.id, differences })
              : `${charge.id}  ${differences.join('; ')}`,
          )
        }
        const last = page.at(-1)
        if (!last) return
        after = last.id
        progress.report(`${charges.toLocaleString('en')} charges replayed, ${different} differ`)
      }
    })
    say(`${charges} charges replayed, ${different} differ`)
    if (different > 0) throw new Exit(exitCodes.failure, '')
  })
}

export async function resolve(
  id: string,
  options: {
    readonly as: 'settle' | 'void'
    readonly amount?: string
    readonly reason: string
    readonly config: string
  },
): Promise<void> {
  const amount = options.amount === undefined ? 0 : parseMoney(options.amount)
  if (amount === undefined || (amount > 0 && options.as === 'void'))
    throw new Exit(exitCodes.usage, `--amount ${options.amount}: expected an amount such as 0.04, with --as settle`)
  await withStorage(options.config, async (storage, plan) => {
    if (!(await storage.books.resolve(id, options.as, 'command line', options.reason, amount))) {
      const charge = await storage.ledger.find(id)
      const why =
        charge?.state === 'needs_review'
          ? `${formatMoney(charge.hold)} ${plan.currency} was held for charge ${id}; it cannot be settled for more`
          : `'${id}' is not a charge waiting for review`
      throw new Exit(exitCodes.failure, why)
    }
    const cost = amount > 0 ? ` at ${formatMoney(amount)} ${plan.currency}` : ''
    say(`Charge ${id} is ${options.as === 'settle' ? 'settled' : 'voided'}${cost}.`)
  })
}

type RefundOptions = {
  readonly amount?: string
  readonly refunded?: string
  readonly reason: string
  readonly config: string
}

export async function refund(id: string, options: RefundOptions): Promise<void> {
  const part = { ...readMoney('amount', options.amount), ...readMoney('refunded', options.refunded) }
  if (part.amount === 0) throw new Exit(exitCodes.usage, '--amount 0: expected an amount over 0')
  await withStorage(options.config, async (storage, plan) => {
    const micros = await storage.books.refund(id, 'command line', options.reason, part)
    const charge = await storage.ledger.find(id)
    const show = (amount: number): string => `${formatMoney(amount)} ${charge?.currency ?? plan.currency}`
    const left = charge?.state === 'settled' ? charge.amount - charge.refunded : 0
    if (micros > 0) return say(`Refunded ${show(micros)} of charge ${id}${left > 0 ? `; ${show(left)} is left` : ''}.`)
    if (!charge) throw new Exit(exitCodes.failure, `there is no charge '${id}' (tollgate logs lists them)`)
    if (left === 0) throw new Exit(exitCodes.failure, `charge ${id} has nothing left to refund`)
    const why =
      part.amount !== undefined && part.amount > left
        ? `${show(left)} of charge ${id} is left to refund; it cannot be refunded more`
        : `${show(charge.refunded)} of charge ${id} was refunded before`
    throw new Exit(exitCodes.failure, `${why}. Nothing was refunded.`)
  })
}

function readMoney(name: keyof PartialRefund, text: string | undefined): PartialRefund {
  if (text === undefined) return {}
  const micros = parseMoney(text)
  if (micros === undefined) throw new Exit(exitCodes.usage, `--${name} ${text}: expected an amount such as 0.04`)
  return { [name]: micros }
}
