import type { ImagePrices, PricedModel } from '../../kit/index.ts'
import { type Fragment, type Html, html } from './html.ts'
import { renderTable } from './table.ts'
import type { Words } from './words.ts'

export type ImageModel = PricedModel & { readonly images: ImagePrices }

/** The models of a list that are charged by the image. */
export function imageModels(models: readonly PricedModel[]): readonly ImageModel[] {
  return models.filter((model): model is ImageModel => model.images !== null)
}

/** What sizes come to: one row for a size, one column for what comes back of it in each operation. */
export function renderSizes(text: Words['pricing'], { name, free, images }: ImageModel, currency: string): Html {
  const { sizes, tiers } = images
  const operations = [...new Set(sizes.map(row => row.operation))]
  const reachable = tiers.filter(tier => tier.reach.kind === 'yes')
  const rows = sizes
    .filter(row => row.operation === operations[0])
    .map((row): readonly Fragment[] => {
      const tier = tiers.find(one => one.tier === row.tier)
      const likely = tier ?? (reachable.length === 1 ? reachable[0] : undefined)
      const comeBack = operations.map(operation => {
        const of = sizes.find(one => one.operation === operation && one.asked === row.asked)
        return of?.comesBack ?? text.shape(of?.resolution?.toUpperCase() ?? null, of?.ratio ?? null)
      })
      const { mismatch } = row
      return [
        row.asked ?? text.noSize,
        ...comeBack,
        tier ? tier.tier : likely ? text.inPractice(likely.tier) : text.byImage,
        free ? text.free : likely && html`<span class="money">${likely.price} ${currency}</span>`,
        mismatch &&
          mismatch.kind !== 'ignored' &&
          html`<span class="${mismatch.kind === 'dearer' ? 'warning' : 'quiet'}">${text.mismatch(mismatch)}</span>`,
      ]
    })
  const returned = operations.map(operation => text.returned(text.operations[operation] ?? operation))
  const headings = [text.asked, ...returned, text.tier, text.pricePerImage, text.remark]
  return html`<div class="sizes">${renderTable(`${name}: ${text.sizes}`, headings, rows)}</div>`
}
