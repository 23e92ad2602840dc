import { tName } from '../../words/index.ts'

/** The sources of tiers in records (`docs/rules.md#billing-labels`). */
export const sources: { readonly [source: string]: string } = {
  told: '应答所述',
  output: '输出尺寸',
  request: '请求尺寸',
  default: '默认',
}

/** The source of a tier: the record's word, and its meaning. */
export function sourceText(source: string): string {
  const chinese = sources[source]
  return chinese === undefined ? source : label(chinese, tName('source', source))
}

/** The bill's label (`docs/rules.md#billing-labels`), and its meaning for readers of another language. */
export function label(chinese: string, english: string): string {
  return english === chinese ? chinese : `${chinese} ${english}`
}
