import type { Calculated, PricingPage } from '../../admin/pages/page-data.ts'
import { Button } from '../kit/button.tsx'
import { Labelled } from '../kit/labelled.tsx'
import { Money } from '../kit/money.tsx'
import { shownExact } from '../shown-money.ts'
import { language } from '../words/index.ts'
import { tMismatch } from '../words/mismatch.ts'
import { tOperation } from '../words/operation.ts'
import type { ImageModel } from './image-models.ts'
import { t } from './words.ts'

type CalculatorProps = Pick<PricingPage, 'calculation'> & {
  readonly models: readonly ImageModel[]
  readonly currency: string
}

const unique = <Value,>(values: readonly Value[]): readonly Value[] => [...new Set(values)]

/** A form whose result is on this page. */
export function Calculator({ models, currency, calculation }: CalculatorProps) {
  const rows = models.flatMap(({ images }) => images.sizes)
  const labels = unique(models.flatMap(({ images }) => images.labels))
  const request = calculation?.request
  const names = unique(models.flatMap(({ images }) => images.by ?? [])).filter(name => name !== 'tier')
  return (
    <section class="card" aria-labelledby="calculator">
      <h2 id="calculator">{t('pricing.calculator')}</h2>
      <form class="calculator" action="/pricing#calculator" method="get">
        <input type="hidden" name="lang" value={language.value} />
        <Labelled label={t('model')}>
          {id => <Select id={id} name="model" value={request?.model} values={models.map(({ name }) => [name, name])} />}
        </Labelled>
        <Labelled label={t('operation')}>
          {id => (
            <Select
              id={id}
              name="operation"
              value={request?.operation}
              values={unique(rows.map(row => row.operation)).map(one => [one, tOperation(one)])}
            />
          )}
        </Labelled>
        <Labelled label={t('label.size')}>
          {id => (
            <input
              id={id}
              name="size"
              value={request?.size ?? '1024x1024'}
              list="sizes"
              maxLength={40}
              autocomplete="off"
              aria-describedby="size-hint"
            />
          )}
        </Labelled>
        {names.map(name => (
          <Labelled key={name} label={name}>
            {id => (
              <input
                id={id}
                name={`field.${name}`}
                value={request?.fields[name] ?? ''}
                list={`values-${name}`}
                maxLength={100}
                autocomplete="off"
              />
            )}
          </Labelled>
        ))}
        <Labelled label={t('play.n')}>
          {id => (
            <input id={id} name="n" type="number" min="1" value={request?.n ?? '1'} inputMode="numeric" required />
          )}
        </Labelled>
        <Button type="submit" kind="primary">
          {t('pricing.calculate')}
        </Button>
        <datalist id="sizes">
          {unique(rows.map(row => row.asked)).map(size => size !== null && <option key={size} value={size} />)}
        </datalist>
        {names.map(name => (
          <datalist key={name} id={`values-${name}`}>
            {valuesOf(models, name).map(value => (
              <option key={value} value={value} />
            ))}
          </datalist>
        ))}
        <p class="hint" id="size-hint">
          {t('pricing.size.hint', { labels: labels.map(label => t('pricing.size.label', { label })).join('') })}
        </p>
      </form>
      {calculation && <Result of={calculation.result} currency={currency} />}
    </section>
  )
}

/** The values of a field that have prices. */
function valuesOf(models: readonly ImageModel[], name: string): readonly string[] {
  const values = models.flatMap(({ images: { by = [], tiers } }) => {
    const place = by.indexOf(name)
    const words = tiers.map(({ tier }) => (by.length === 1 ? [tier] : tier.split(/\s+/)))
    return place < 0 ? [] : words.filter(({ length }) => length === by.length).map(own => own[place] ?? '')
  })
  return unique(values)
}

function Select({
  id,
  name,
  value,
  values,
}: {
  readonly id: string
  readonly name: string
  readonly value: string | undefined
  readonly values: readonly (readonly [value: string, text: string])[]
}) {
  return (
    <select id={id} name={name}>
      {values.map(([one, text]) => (
        <option key={one} value={one} selected={one === value}>
          {text}
        </option>
      ))}
    </select>
  )
}

function Result({ of, currency }: { readonly of: Calculated; readonly currency: string }) {
  if (of.kind === 'wrong_count')
    return (
      <p class="note bad" role="alert">
        {t('pricing.count.wrong')}
      </p>
    )
  if (of.kind === 'refused')
    return (
      <p class="note bad" role="alert">
        {t('pricing.refused')} <span lang="en">{of.message}</span>
      </p>
    )
  const { quote, expected_size: size, mismatch } = of.explained
  if (!quote) return <p class="note">{t('pricing.undecided')}</p>
  const { n, tier, source, price, expected, at_most: atMost, beside: extraLines } = quote
  const sentences = [
    tier === null ? t(extraLines ? 'pricing.undecided.answer' : 'pricing.undecided') : tWhy(tier, source),
    size === null ? '' : t('pricing.comes_back', { size }),
    expected === atMost ? '' : t('pricing.at_most', { amount: `${shownExact(atMost)} ${currency}` }),
  ]
  return (
    <div class="quote" role="status">
      <span class="sum">
        {expected === null ? (
          <>
            ≤ <Money exact amount={atMost} currency={currency} />
          </>
        ) : (
          <>
            {extraLines || price === null ? '' : `${n} × ${shownExact(price)} = `}
            <Money exact amount={expected} currency={currency} />
          </>
        )}
      </span>
      <p>{sentences.filter(one => one !== '').join(language.value === 'zh' ? '' : ' ')}</p>
      {mismatch && <p class="note warn">{tMismatch(mismatch)}</p>}
    </div>
  )
}

const sources = {
  told: 'pricing.source.told',
  output: 'pricing.source.output',
  request: 'pricing.source.request',
  default: 'pricing.source.default',
} as const

/** The reason for the tier; empty if a plugin has its own reasons. */
function tWhy(tier: string, source: string | null): string {
  const word = Object.entries(sources).find(([name]) => name === source)?.[1]
  return word === undefined ? '' : t('pricing.expected', { tier, source: t(word) })
}
