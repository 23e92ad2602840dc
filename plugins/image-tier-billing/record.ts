import {
  type Account,
  actualSize,
  type Charge,
  formatMoney,
  type Line,
  sourceLabels,
  type TierRule,
} from '../../src/kit/index.ts'

const tierFromText = {
  output: 'the long edge of the image that came back',
  request: 'the long edge of the requested size',
} as const

/** Explains a charge of images: the six labels, the tiers as they were, and the tier of each image. */
export function record(charge: Charge): Account {
  // Charges of this kind are written by this plugin alone.
  const rule = charge.rule as TierRule
  const from = rule.tierFrom.map(source => tierFromText[source]).join(', else ')
  return {
    text: imageText(charge),
    count: charge.lines.length,
    rule: {
      text: `each image is priced by the tier of ${from}; default ${rule.otherwise}`,
      rows: rule.tiers.map(({ tier, longEdgeMax, price, at }) => {
        return { tier, long_edge_max: longEdgeMax, price: formatMoney(price), per: 1, at }
      }),
      multiplier: 'group multiplier not applied: the configured price of an image is final',
    },
    line: line => ({
      why: whyTier(charge, rule, line),
      at: rule.tiers.find(row => row.tier === line.tier)?.at ?? null,
    }),
  }
}

/** The six labels of `docs/rules.md#the-record-of-a-charge`. */
function imageText({ size, quality, lines }: Charge): string {
  return [
    `大小 ${size ?? '-'}`,
    `请求品质 ${quality ?? '-'}`,
    `生成数量 ${lines.length}`,
    `图片档位 ${grouped(lines.map(line => line.tier))}`,
    `来源 ${grouped(lines.map(line => sourceLabels[line.source]))}`,
    `实际尺寸 ${grouped(lines.map(line => actualSize(line) ?? '-'))}`,
  ].join(', ')
}

/** `2K`, or `2K×3, 4K×1` when they differ; `-` when there are none. */
function grouped(values: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  if (counts.size === 0) return '-'
  if (counts.size === 1) return String(values[0])
  return [...counts].map(([value, count]) => `${value}×${count}`).join(', ')
}

function whyTier(charge: Charge, rule: TierRule, line: Line): string {
  if (line.source === 'default') return `no size could be read → ${line.tier} by default`
  if (line.source === 'request') return `requested size ${charge.size} → ${line.tier}`
  const edge = Math.max(line.width ?? 0, line.height ?? 0)
  const row = rule.tiers.findIndex(tier => tier.tier === line.tier)
  const max = rule.tiers[row]?.longEdgeMax ?? null
  const below = row > 0 ? (rule.tiers[row - 1]?.longEdgeMax ?? null) : null
  const bound = max === null ? `> ${below ?? 0}` : `≤ ${max}`
  return `long edge ${edge} ${bound} → ${line.tier}`
}
