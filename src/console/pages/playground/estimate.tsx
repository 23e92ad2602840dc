import type { Model } from '../../api/shapes.ts'
import { Money } from '../../kit/money.tsx'
import { amountOf, microsOf } from '../../money.ts'
import { count } from '../../numbers.ts'
import { t } from '../../words/index.ts'
import { estimateTokens } from './estimate-tokens.ts'

/** The cost of a message's input at list prices, and the maximum for its answer if that has a limit. */
export function Estimate({
  models,
  texts,
  maxTokens,
}: {
  readonly models: readonly Model[]
  readonly texts: readonly string[]
  readonly maxTokens: number | undefined
}) {
  const tokens = estimateTokens(texts)
  if (tokens === 0) return null
  return (
    <div class="quote">
      <span class="quiet">{t('play.estimate', { tokens: count(tokens) })}</span>
      {models.map(model => {
        const [input, output] = [costOf(model, 'input', tokens), costOf(model, 'output', maxTokens)]
        if (input === undefined) return null
        return (
          <span key={model.name}>
            {models.length > 1 && <span class="theirs">{model.name} </span>}
            {t('play.estimate.input')} <Money {...input} />
            {output && (
              <>
                {' · '}
                {t('play.estimate.output')} <Money {...output} />
              </>
            )}
          </span>
        )
      })}
    </div>
  )
}

/** Rounded up to a micro-unit. */
function costOf({ prices }: Model, unit: 'input' | 'output', tokens: number | undefined) {
  const price = prices.find(one => one.unit === unit)
  if (!price || tokens === undefined) return undefined
  const per = BigInt(price.per)
  return { amount: amountOf((microsOf(price.price) * BigInt(tokens) + per - 1n) / per), currency: price.currency }
}
