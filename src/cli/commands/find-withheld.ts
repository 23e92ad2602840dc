import { type Charge, formatMoney } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { print, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'
import { withProgress } from '../progress.ts'
import { formatTable } from '../table.ts'

type Options = {
  readonly refund: boolean
  readonly reason: string
  readonly config: string
  readonly format: string
}

const pageCharges = 500

/** Lists charges that were settled although an unrecognised part was cut from the response; refunds them on request. */
export async function findWithheld({ refund, reason, config, format }: Options): Promise<void> {
  await withStorage(config, async ({ books }) => {
    const found: (Charge & { readonly given: number })[] = []
    await withProgress('reading the ledger', async progress => {
      let read = 0
      for (let after: string | null = null; ; ) {
        const page: readonly Charge[] = await books.all(after, pageCharges)
        for (const charge of page) {
          if (!isWithheld(charge)) continue
          found.push({ ...charge, given: refund ? await books.refund(charge.id, actor, reason) : 0 })
        }
        const last = page.at(-1)
        if (!last) return
        after = last.id
        read += page.length
        progress.report(`${read.toLocaleString('en')} charges read, ${found.length} withheld`)
      }
    })
    if (format === 'json') for (const charge of found) print(JSON.stringify(show(charge)))
    else if (found.length > 0) print(formatTable(headings, found.map(rowOf)))
    const sum = describeSums(found)
    if (found.length === 0) say('No charges were settled for responses that were cut off for unknown content.')
    else if (refund) say(`${countOf(found.length, 'charge')}, ${sum} refunded.`)
    else say(`${countOf(found.length, 'charge')}, ${sum}. \`tollgate ledger find-withheld --refund\` refunds it.`)
  })
}

/** The client has paid for a truncated response, which may be empty, and part of the charge is not refunded yet. */
function isWithheld({ state, reason, delivery, amount, refunded }: Charge): boolean {
  if (state !== 'settled' || delivery !== 'partial' || amount <= refunded) return false
  return reason?.startsWith('answer_unrecognised') === true
}

const headings = ['CHARGE', 'TIME', 'USER', 'MODEL', 'AMOUNT', 'REASON']

type Found = Charge & { readonly given: number }

function rowOf(charge: Found): readonly string[] {
  const { id, createdAt, user, model, currency, reason } = charge
  const amount = `${formatMoney(leftOf(charge))} ${currency}`
  return [id, new Date(createdAt).toISOString(), user, model, amount, reason ?? '']
}

function show(charge: Found): object {
  const { id, createdAt, user, group, model, currency, reason, amount, refunded, given } = charge
  return {
    id,
    time: new Date(createdAt).toISOString(),
    user,
    group,
    model,
    currency,
    amount: formatMoney(amount),
    refunded: formatMoney(refunded + given),
    reason,
  }
}

function leftOf({ amount, refunded }: Charge): number {
  return amount - refunded
}

function describeSums(found: readonly Found[]): string {
  const sums = new Map<string, number>()
  for (const charge of found) sums.set(charge.currency, (sums.get(charge.currency) ?? 0) + leftOf(charge))
  return [...sums].map(([currency, micros]) => `${formatMoney(micros)} ${currency}`).join(' and ')
}
