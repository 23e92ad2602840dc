import { repriceCharges, showWhatIf } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { describeSpan, readSpan, readZone } from '../moments.ts'
import { actor, withStorage } from '../with-storage.ts'
import { printCosts } from '../print-costs.ts'
import { withProgress } from '../progress.ts'

type Options = {
  readonly config: string
  readonly format: string
  readonly since: string
  readonly until?: string
  readonly zone?: string
  readonly reason: string
  readonly dryRun?: boolean
  readonly apply?: boolean
}

/** Rates past charges at the current prices of the configuration: compares them, or refunds and books them again. */
export async function reprice(options: Options): Promise<void> {
  const isApplied = options.apply === true
  if (isApplied === (options.dryRun === true))
    throw new Exit(exitCodes.usage, 'ledger reprice: use --dry-run to print the differences or --apply to book them')
  await withStorage(options.config, async (storage, plan) => {
    const zone = readZone(options.zone, plan.timeZone)
    const now = Date.now()
    const { since = 0, until = now } = readSpan(options, now, zone)
    const report = await withProgress('repricing charges', async progress =>
      repriceCharges(
        plan,
        storage,
        { since, until },
        {
          ...(isApplied && { apply: { by: actor, reason: options.reason } }),
          onProgress: charges => progress.report(`${charges.toLocaleString('en')} charges compared`),
        },
      ),
    )
    const { changed, booked } = report
    say(`charges ${describeSpan({ since, until, zone })}`)
    if (options.format === 'json') print(JSON.stringify({ ...showWhatIf(report), changed, booked }))
    else printCosts(report, options.config)
    if (isApplied) say(`${countOf(booked, 'charge')} refunded and charged again`)
    else if (changed > 0) say(`${countOf(changed, 'charge')} would be refunded and charged again; use --apply`)
    if (isApplied && booked < changed)
      say(`${countOf(changed - booked, 'charge')} skipped: refunded or repriced by another process in the meantime`)
  })
}
