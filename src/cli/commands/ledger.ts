import { formatMoney, replayCharge } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { withStorage } from '../open-books.ts'

type Options = { readonly config: string; readonly format: string }

export async function verify(options: Options): Promise<void> {
  await withStorage(options.config, async storage => {
    const audit = await storage.books.verify()
    if (options.format === 'json') print(JSON.stringify(audit))
    else {
      for (const problem of audit.problems) print(problem)
      say(`${audit.charges} charges, ${audit.lines} lines, ${audit.entries} entries: ${audit.problems.length} problems`)
    }
    if (audit.problems.length > 0) throw new Exit(exitCodes.failure, '')
  })
}

/** Rates every charge again from what was stored with it: the rule, the pixels, the requested size. */
export async function replay(options: Options): Promise<void> {
  await withStorage(options.config, async storage => {
    let after: string | null = null
    let charges = 0
    let different = 0
    for (;;) {
      const page = await storage.books.all(after, 500)
      for (const charge of page) {
        charges++
        const differences = await replayCharge(charge)
        if (differences.length === 0) continue
        different++
        print(
          options.format === 'json'
            ? JSON.stringify({ id: charge.id, differences })
            : `${charge.id}  ${differences.join('; ')}`,
        )
      }
      const last = page.at(-1)
      if (!last) break
      after = last.id
    }
    say(`${charges} charges replayed, ${different} differ`)
    if (different > 0) throw new Exit(exitCodes.failure, '')
  })
}

export async function resolve(
  id: string,
  options: { readonly as: 'settle' | 'void'; readonly reason: string; readonly config: string },
): Promise<void> {
  await withStorage(options.config, async storage => {
    if (!(await storage.books.resolve(id, options.as, 'command line', options.reason)))
      throw new Exit(exitCodes.failure, `'${id}' is not a charge that needs review`)
    say(`Charge ${id} is ${options.as === 'settle' ? 'settled' : 'voided'}.`)
  })
}

export async function refund(id: string, options: { readonly reason: string; readonly config: string }): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const micros = await storage.books.refund(id, 'command line', options.reason)
    if (micros === 0)
      throw new Exit(
        exitCodes.failure,
        (await storage.ledger.find(id))
          ? `charge ${id} has nothing left to give back`
          : `there is no charge '${id}' (tollgate logs lists them)`,
      )
    say(`${formatMoney(micros)} ${plan.currency} of charge ${id} given back.`)
  })
}
