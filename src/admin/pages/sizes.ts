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
        return of?.comesBack ?? (of?.resolution ? text.resolution(of.resolution.toUpperCase()) : text.modelDecides)
      })
      const remark = row.mismatch && row.mismatch.kind !== 'ignored' ? text.mismatch(row.mismatch) : null
      return [
        row.asked ?? text.noSize,
        ...comeBack,
        tier ? tier.tier : likely ? text.inPractice(likely.tier) : text.byImage,
        free ? text.free : likely && html`<span class="money">${likely.price} ${currency}</span>`,
        remark !== null && html`<span class="warning">${remark}</span>`,
      ]
    })
  const returned = operations.map(operation => text.returned(text.operations[operation] ?? operation))
  const headings = [text.asked, ...returned, text.tier, text.pricePerImage, text.remark]
  return renderTable(`${name}: ${text.sizes}`, headings, rows)
}
