import { type CostSpan, lastMonth, replayCosts, showWhatIf } from '../../index.ts'
import { exitCodes, print, say } from '../exit.ts'
import { describeSpan, readSpan, readZone } from '../moments.ts'
import { needFile } from '../need-file.ts'
import { readStoragePlan, withStorage } from '../with-storage.ts'
import { withProgress } from '../progress.ts'
import { printCosts } from '../print-costs.ts'

type Options = {
  readonly config: string
  readonly format: string
  readonly since?: string
  readonly until?: string
  readonly zone?: string
}

/** Prints the cost of past charges at the prices of another configuration. */
export async function configCost(file: string, options: Options): Promise<void> {
  await needFile(file, exitCodes.configInvalid)
  const plan = await readStoragePlan(file)
  await withStorage(options.config, async (storage, inUse) => {
    const zone = readZone(options.zone, inUse.timeZone)
    const now = Date.now()
    const range = readSpan(options, now, zone)
    const span = spanOf(range, zone, now)
    const costs = await withProgress('recomputing charges', async progress =>
      replayCosts(plan, storage.books, span, {
        inUse,
        onProgress: charges => progress.report(`${charges.toLocaleString('en')} charges recomputed`),
      }),
    )
    say(`charges ${describeSpan({ ...span, zone })}`)
    if (options.format === 'json') return print(JSON.stringify(showWhatIf(costs)))
    printCosts(costs, file)
  })
}

function spanOf(
  { since, until }: { since: number | undefined; until: number | undefined },
  zone: string,
  now: number,
): CostSpan {
  const month = lastMonth(zone, until ?? now)
  if (since === undefined && until === undefined) return { since: month.from, until: month.until }
  return { since: since ?? month.from, until: until ?? now }
}
