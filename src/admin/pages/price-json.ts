import type { PricedModel, PriceList } from '../../domain/index.ts'

/** The price list in the form of `GET /api/pricing`; its sentences are in English. */
export function toPriceJson({ currency, models }: PriceList): object {
  return { currency, models: models.map(toModelJson) }
}

function toModelJson({
  name,
  family,
  operations,
  free,
  ends,
  notes,
  images,
  units,
  overrides,
  times,
}: PricedModel): object {
  const warnings = (images?.sizes ?? [])
    .filter(({ mismatch }) => mismatch && mismatch.kind !== 'ignored')
    .flatMap(({ warning }) => warning ?? [])
  return {
    name,
    family,
    operations,
    free,
    ...(ends !== undefined && { ends }),
    notes,
    tiers:
      images?.tiers.map(({ tier, longEdgeMax, pixelsMax, price, reach }) => ({
        tier,
        long_edge_max: longEdgeMax,
        ...(pixelsMax !== undefined && { pixels_max: pixelsMax }),
        price,
        reachable: reach.kind !== 'never',
        reason: reach.kind === 'yes' ? null : reach.reason.en,
      })) ?? null,
    units: units.length > 0 ? units : null,
    tier_from: images?.tierFrom ?? null,
    otherwise: images?.otherwise ?? null,
    ...(images?.by && { price_by: images.by }),
    ...(images?.times && { times: images.times }),
    ...(overrides.length > 0 && { overrides }),
    ...(times.length > 0 && { unit_times: times }),
    ...(images?.beside && { beside: images.beside }),
    warnings: [...new Set(warnings)],
    sizes: (images?.sizes ?? []).map(
      ({ operation, asked, comesBack, resolution, ratio, tier, price, warning, mismatch }) => ({
        operation,
        asked,
        comes_back: comesBack,
        resolution,
        ratio,
        tier,
        price,
        warning,
        mismatch,
      }),
    ),
  }
}
