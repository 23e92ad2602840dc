import { createInterface } from 'node:readline/promises'
import { type LiveResult, type LiveTrial, planLive, type CompiledConfig, tryLive } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { readPlan } from '../with-storage.ts'
import { safeLine } from '../safe-text.ts'

export type LiveOptions = {
  readonly live: readonly string[]
  readonly liveAll: boolean
  readonly simulated: boolean
  readonly yes: boolean
}

/** Buys the smallest image of each model after a confirmation, and reports the result. Exit 1 when one fails. */
export async function doctorLive(
  options: LiveOptions & { readonly config: string; readonly format: string },
): Promise<void> {
  const plan = await readPlan(options.config)
  const trials = choose(await planLive(plan, options.simulated), options)
  await needConsent(plan, trials, options.yes)
  let failed = 0
  for await (const result of tryLive(plan, trials)) {
    if (result.error !== null) failed++
    print(options.format === 'json' ? JSON.stringify(result) : formatResult(result))
  }
  if (failed > 0) throw new Exit(exitCodes.failure, `${failed} of ${trials.length} failed`)
}

/** @throws Exit 2 if a model cannot be tested */
function choose(trials: readonly LiveTrial[], { live, liveAll }: LiveOptions): readonly LiveTrial[] {
  const names = [...new Set(trials.map(({ model }) => model))]
  const unknown = live.filter(name => !names.includes(name))
  if (unknown.length > 0 || names.length === 0) {
    const what = unknown.length > 0 ? `${unknown.join(', ')}: cannot be tested; ` : ''
    const there = names.length > 0 ? `available: ${names.join(', ')}` : 'no image model has a real upstream'
    throw new Exit(exitCodes.usage, `${what}${there}. Use --simulated to include simulated upstreams.`)
  }
  return liveAll ? trials : trials.filter(({ model }) => live.includes(model))
}

/** @throws Exit 2 without a confirmation */
async function needConsent(plan: CompiledConfig, trials: readonly LiveTrial[], yes: boolean): Promise<void> {
  for (const { model, operation, atMost } of trials)
    say(
      safeLine(
        `buys  ${model}  ${operation}  ${atMost === null ? 'at an unknown price' : `at most ${atMost} ${plan.currency}`}`,
      ),
    )
  if (yes) return
  if (!process.stdin.isTTY) throw new Exit(exitCodes.usage, 'Nothing was sent. Use --yes to request these.')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question('These are your prices; the vendor charges its own. Continue? [y/N] ')
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new Exit(exitCodes.usage, 'nothing was sent')
  } finally {
    lines.close()
  }
}

function formatResult({ model, operation, status, ms, pictures, charge, unrecognised, error }: LiveResult): string {
  const lines = [`${error === null ? 'ok  ' : 'fail'}  ${model}  ${operation}  status ${status ?? '-'}  ${ms} ms`]
  if (pictures.length > 0) lines.push(`      returned ${pictures.join(', ')}`)
  if (charge) {
    const cost =
      charge.vendor_cost === null ? 'the vendor did not report a cost' : `the vendor reported ${charge.vendor_cost}`
    lines.push(
      `      charged  ${charge.amount} ${charge.currency} (${charge.state}); ${cost}`,
      `      why      ${charge.text}`,
    )
  }
  if (unrecognised !== null) lines.push(`      unknown  ${unrecognised}`)
  if (error !== null) lines.push(`      error    ${error}`)
  return lines.map(safeLine).join('\n')
}
