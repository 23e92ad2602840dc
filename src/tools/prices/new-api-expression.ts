import type { PriceConditions, TableRow, UnitName } from '../../domain/index.ts'
import { isZero, readDecimal, toPrice, withoutNoise } from './decimals.ts'
import { PriceGrid } from './price-grid.ts'

/** Variables of an expression and the gateway's units. A unit without a variable has the price of its parent. */
const unitsOf: { readonly [variable: string]: UnitName } = {
  p: 'input',
  c: 'output',
  cr: 'cached_input',
  cc: 'cache_write',
  cc1h: 'cache_write_1h',
  img: 'input_image',
  img_cr: 'cached_input_image',
  ai: 'input_audio',
  img_o: 'output_image',
  ao: 'output_audio',
}
const outputs: ReadonlySet<UnitName> = new Set(['output', 'output_image', 'output_audio'])

type Prices = ReadonlyMap<UnitName | 'request', string>
type Choice = { readonly size: number; readonly isInclusive: boolean; readonly below: Tree; readonly above: Tree }
type Tree = { readonly prices: Prices } | Choice
type Factor = { readonly if: PriceConditions; readonly by: string }

/** An expression that the gateway's prices cannot express. */
class Untranslated extends Error {}

/**
 * Reads the `billing_expr` of new-api: prices of tokens in USD per million, by the size of the input, with factors by
 * service tier. A text gives the reason why it is not translated.
 */
export function readExpression(text: string): Pick<TableRow, 'prices' | 'overrides' | 'times'> | string {
  try {
    const parser = new Parser(text.trim().replace(/^v1:/, ''))
    const { tree, times } = parser.read()
    return { ...pricesOf(tree), ...(times.length > 0 && { times }) }
  } catch (error) {
    if (error instanceof Untranslated) return `its billing_expr is not translated: ${error.message}`
    throw error
  }
}

function pricesOf(tree: Tree): Pick<TableRow, 'prices' | 'overrides'> {
  const leaves = leavesOf(tree)
  const used = new Set(leaves.flatMap(({ prices }) => [...prices.keys()]))
  if (used.has('request')) {
    if (leaves.length > 1) throw new Untranslated('a price per request is combined with others')
    return { prices: { request: leaves[0]?.prices.get('request') as string } }
  }
  const kinds = new Set(leaves.map(one => one.isInclusive).filter(one => one !== undefined))
  if (kinds.size > 1) throw new Untranslated('its sizes are compared inconsistently')
  const grid = new PriceGrid(kinds.has(true))
  for (const { from, prices } of leaves)
    for (const unit of used as ReadonlySet<UnitName>) {
      const price = prices.get(unit) ?? prices.get(outputs.has(unit) ? 'output' : 'input')
      if (price === undefined) throw new Untranslated('p and c are not both priced')
      grid.set(unit, price, from === undefined ? {} : { above: from })
    }
  if (grid.get('input') === undefined || grid.get('output') === undefined)
    throw new Untranslated('p and c are not both priced')
  const overrides = grid.overrides()
  return { prices: grid.prices(), ...(overrides.length > 0 && { overrides }) }
}

type Leaf = { readonly from: number | undefined; readonly isInclusive: boolean | undefined; readonly prices: Prices }

/** In ascending order of input size. */
function leavesOf(tree: Tree, from?: number, isInclusive?: boolean): readonly Leaf[] {
  if ('prices' in tree) return [{ from, isInclusive, prices: tree.prices }]
  if (from !== undefined && tree.size <= from) throw new Untranslated('its sizes are not in ascending order')
  const below = leavesOf(tree.below, from, isInclusive)
  if (below.some(one => one.from !== undefined && one.from >= tree.size))
    throw new Untranslated('its sizes are not in ascending order')
  return [...below, ...leavesOf(tree.above, tree.size, tree.isInclusive)]
}

const token = /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|"([^"\\]*)"|(<=|>=|==|[<>?:(),*+]))/y

class Parser {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(text: string) {
    const tokens: string[] = []
    token.lastIndex = 0
    while (token.lastIndex < text.length) {
      const at = token.lastIndex
      const match = token.exec(text)
      if (!match) throw new Untranslated(`'${text.slice(at, at + 20).trim()}' is not supported`)
      // A text keeps a mark, so that it is not taken for a name.
      tokens.push(match[3] === undefined ? (match[1] ?? match[2] ?? match[4] ?? '') : `"${match[3]}`)
    }
    this.#tokens = tokens
  }

  read(): { readonly tree: Tree; readonly times: readonly Factor[] } {
    const tree = this.#tree()
    const times: Factor[] = []
    while (this.#take('*')) times.push(this.#factor())
    if (this.#at < this.#tokens.length) throw this.#unknown()
    return { tree, times }
  }

  #tree(): Tree {
    if (this.#take('(')) {
      const inner = this.#tree()
      this.#need(')')
      return inner
    }
    if (this.#peek() === 'len') return this.#choice()
    if (!this.#take('tier')) return { prices: this.#leaf() }
    this.#need('(')
    this.#text()
    this.#need(',')
    const prices = this.#leaf()
    this.#need(')')
    return { prices }
  }

  #choice(): Tree {
    this.#need('len')
    const operator = this.#next()
    const size = Number(this.#number())
    this.#need('?')
    const first = this.#tree()
    this.#need(':')
    const second = this.#tree()
    if (!Number.isSafeInteger(size) || size < 1) throw new Untranslated('a size is not a number of tokens')
    if (operator === '<=' || operator === '<')
      return { size, isInclusive: operator === '<', below: first, above: second }
    if (operator === '>' || operator === '>=')
      return { size, isInclusive: operator === '>=', below: second, above: first }
    throw new Untranslated(`len is compared by ${operator}`)
  }

  #leaf(): Prices {
    const prices = new Map<UnitName | 'request', string>()
    if (this.#take('fixed')) {
      this.#need('(')
      prices.set('request', this.#price(this.#number()))
      this.#need(')')
      return prices
    }
    do {
      const [first, second] = [this.#next(), this.#need('*') && this.#next()]
      const [variable, number] = /^\d/.test(first) ? [second, first] : [first, second]
      const unit = Object.hasOwn(unitsOf, variable) ? unitsOf[variable] : undefined
      if (!unit || prices.has(unit)) throw new Untranslated(`'${variable}' is not supported`)
      prices.set(unit, this.#price(number))
    } while (this.#take('+'))
    return prices
  }

  /** `(param("service_tier") == "fast" ? 2 : 1)`. */
  #factor(): Factor {
    this.#need('(')
    this.#need('param')
    this.#need('(')
    const field = this.#text()
    this.#need(')')
    this.#need('==')
    const value = this.#text()
    this.#need('?')
    const by = readDecimal(this.#number())
    this.#need(':')
    const otherwise = readDecimal(this.#number())
    this.#need(')')
    if (field !== 'service_tier' && field !== 'speed') throw new Untranslated(`it depends on the field ${field}`)
    if (by === undefined || isZero(by) || otherwise !== '1' || (by.split('.')[1] ?? '').length > 6)
      throw new Untranslated('a factor is not supported')
    return { if: { [field]: value }, by }
  }

  #price(text: string): string {
    const decimal = readDecimal(text)
    const price = decimal === undefined ? undefined : toPrice(withoutNoise(decimal))
    if (price === undefined) throw new Untranslated(`${text} is not a price with at most six decimal places`)
    return price
  }

  #number(): string {
    const text = this.#next()
    if (!/^\d/.test(text)) throw this.#unknown()
    return text
  }

  #text(): string {
    const text = this.#next()
    if (!text.startsWith('"')) throw this.#unknown()
    return text.slice(1)
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at]
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? ''
  }

  #take(wanted: string): boolean {
    const isIt = this.#peek() === wanted
    if (isIt) this.#at++
    return isIt
  }

  #need(wanted: string): true {
    if (this.#take(wanted)) return true
    throw this.#unknown()
  }

  #unknown(): Untranslated {
    return new Untranslated(`'${(this.#peek() ?? 'its end').replace(/^"/, '')}' is not expected`)
  }
}
