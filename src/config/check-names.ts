import { modelMatcher, type OperationsByName, starsIn } from '../domain/index.ts'
import { isAllFree } from './free-operations.ts'
import type { Report } from './report.ts'
import { type Entry, findNode, type Path, type Tree } from './tree.ts'

/** Names that the file may use without defining them; an absent list is not checked. */
export type KnownNames = {
  readonly dialects?: readonly string[]
  readonly answers?: readonly string[]
  /** Known operations; a route may have others. */
  readonly operations?: OperationsByName
  /** Valid names after `simulator:` in an upstream's url. */
  readonly simulators?: readonly string[]
  /** Valid schemes of `storage` and of `counters`. */
  readonly storages?: readonly string[]
  readonly counters?: readonly string[]
  /** Whether the console, if it is enabled, serves a path. */
  isConsolePath?(this: void, path: string): boolean
}

/** The value for a route that uses the client's API format. */
const byCaller = 'by-caller'

/**
 * Checks names: every family, upstream, operation, API format and local route in use exists, and every model that can
 * be requested has a price. Works on the tree, so that one finding does not hide another.
 */
export function checkNames(root: Tree, known: KnownNames, report: Report): void {
  const families = new Set(entriesOf(root, ['families']).map(entry => entry.key))
  const upstreams = new Set(entriesOf(root, ['upstreams']).map(entry => entry.key))
  const models = entriesOf(root, ['models']).map(entry => entry.key)
  const plain = new Set(models.filter(name => starsIn(name) === 0))
  for (const key of models) {
    checkFallbackNames(root, key, plain, report)
    checkName(root, ['models', key, 'family'], 'family', families, report)
    checkUpstreams(root, key, upstreams, report)
    checkPrice(root, key, known, report)
  }
  const operations: string[] = []
  for (const i of positionsOf(root, ['routes'])) {
    const operation = textAt(root, ['routes', i, 'operation'])
    if (operation !== undefined) operations.push(operation)
    checkQuery(root, i, report)
    if (known.dialects)
      checkName(root, ['routes', i, 'dialect'], 'dialect', new Set([...known.dialects, byCaller]), report)
    if (known.answers) checkName(root, ['routes', i, 'serve'], 'local answer', new Set(known.answers), report)
  }
  if (operations.length > 0) checkOperations(root, [...new Set(operations)], report)
  checkGroups(root, report)
  if (known.simulators) checkSimulators(root, known.simulators, report)
  for (const [key, kinds] of [['storage', known.storages] as const, ['counters', known.counters] as const])
    if (kinds) checkKind(root, key, kinds, report)
}

function checkSimulators(root: Tree, known: readonly string[], report: Report): void {
  for (const { key } of entriesOf(root, ['upstreams'])) {
    const path = ['upstreams', key, 'url']
    const name = /^simulator:(.+)$/.exec(textAt(root, path) ?? '')?.[1]
    if (name === undefined || known.includes(name)) continue
    const message = `there is no simulated upstream '${name}'`
    const remedy =
      report.suggest(name, known) ??
      `write the upstream's address, or one of ${known.map(one => `simulator:${one}`).join(', ')}`
    report.atValue(path, { code: 'simulator_unknown', message, remedy })
  }
}

/** Shows only the scheme of an address, because the rest may contain a password. */
function checkKind(root: Tree, key: 'storage' | 'counters', known: readonly string[], report: Report): void {
  const kind = textAt(root, [key])?.split(':', 1)[0]
  if (kind === undefined || known.includes(kind) || report.broken([key])) return
  report.atValue([key], {
    code: `${key}_unknown`,
    message: `this version does not support ${key} of the kind '${kind}:'`,
    remedy: `write one that begins with ${known.map(one => `${one}:`).join(' or ')}`,
  })
}

/** `own`: a known name that must not be used here. */
function checkName(
  root: Tree,
  path: Path,
  kind: string,
  known: ReadonlySet<string>,
  report: Report,
  own?: string,
): void {
  const name = textAt(root, path)
  if (name === undefined || (known.has(name) && name !== own)) return
  const remedy = report.suggest(name, known, own)
  report.atValue(path, {
    code: `${kind.replace(' ', '_')}_unknown`,
    message: `there is no ${kind} '${name}'`,
    ...(remedy && { remedy }),
  })
}

/** A model runs on one or more upstreams, at most once on each under one name. */
function checkUpstreams(root: Tree, model: string, known: ReadonlySet<string>, report: Report): void {
  const path = ['models', model]
  const { node } = findNode(root, path)
  if (node.kind !== 'map' || node.unknown) return
  const has = (key: string): boolean => node.entries.some(entry => entry.key === key)
  if (has('upstream') && has('upstreams')) {
    const remedy = 'keep one of the two'
    report.atKey([...path, 'upstream'], { code: 'upstream_twice', message: 'found upstream and upstreams', remedy })
  }
  if (!has('upstream') && !has('upstreams')) {
    const remedy = "add 'upstream' (Name of the upstream that serves it), or upstreams for several"
    report.atKey(path, { code: 'upstream_missing', message: `the model '${model}' has no upstream`, remedy })
  }
  checkName(root, [...path, 'upstream'], 'upstream', known, report)
  const seen = new Set<string>()
  for (const i of positionsOf(root, [...path, 'upstreams'])) {
    const at = [...path, 'upstreams', i]
    checkName(root, [...at, 'upstream'], 'upstream', known, report)
    const mark = JSON.stringify([textAt(root, [...at, 'upstream']), textAt(root, [...at, 'send_as'])])
    if (seen.has(mark)) {
      const remedy = 'keep one of the two; weight gives it a larger share'
      report.atValue(at, { code: 'upstream_repeated', message: 'found the same upstream twice', remedy })
    }
    seen.add(mark)
  }
}

/** Fallbacks are other models, without `*`: such a name is not one that an upstream can receive. */
function checkFallbackNames(root: Tree, model: string, known: ReadonlySet<string>, report: Report): void {
  const path = ['models', model, 'fallbacks']
  for (const i of positionsOf(root, path)) {
    checkName(root, [...path, i], 'fallback', known, report, model)
  }
}

function checkPrice(root: Tree, model: string, { operations }: KnownNames, report: Report): void {
  const path = ['models', model]
  const { node } = findNode(root, path)
  if (node.kind !== 'map' || node.unknown) return
  const has = (key: string): boolean => node.entries.some(entry => entry.key === key)
  if (has('prices') && has('price')) {
    const complaint = {
      code: 'price_twice',
      message: 'found prices and price',
      remedy: 'keep prices, or only `price: free`',
    }
    report.atKey([...path, 'price'], complaint)
  }
  const enabled = findNode(root, [...path, 'enabled'])
  const hidden = enabled.whole && enabled.node.kind === 'scalar' && enabled.node.value === false
  // A wildcard without a price serves only names with a price in a table.
  if (has('prices') || has('price') || hidden || starsIn(model) > 0) return
  const family = textAt(root, [...path, 'family'])
  const served = family === undefined ? [] : entriesOf(root, ['families', family, 'forward']).map(entry => entry.key)
  if (isAllFree(served, operations)) return
  const remedy = 'add prices, as in prices: { 2K: "0.04" }, or set price: free'
  report.atKey(path, { code: 'price_missing', message: `the model '${model}' has no price`, remedy })
}

function checkOperations(root: Tree, known: readonly string[], report: Report): void {
  for (const { key: family } of entriesOf(root, ['families'])) {
    const streams = ['families', family, 'streams']
    for (const i of positionsOf(root, streams)) checkName(root, [...streams, i], 'operation', new Set(known), report)
    checkOperationKeys(root, ['families', family, 'forward'], known, report)
    checkOperationKeys(root, ['families', family, 'calls'], known, report)
    checkDefaults(root, family, report)
  }
  for (const { key } of entriesOf(root, ['upstreams']))
    checkOperationKeys(root, ['upstreams', key, 'calls'], known, report)
  for (const { key } of entriesOf(root, ['models'])) {
    checkOperationKeys(root, ['models', key, 'defaults'], known, report)
    checkModelDefaults(root, key, known, report)
  }
}

/** Defaults for absent fields are useless if no operation forwards the field. */
function checkDefaults(root: Tree, family: string, report: Report): void {
  const rules = entriesOf(root, ['families', family, 'forward']).map(entry => entry.key)
  if (rules.length === 0) return
  for (const { key: field } of entriesOf(root, ['families', family, 'defaults'])) {
    if (rules.some(operation => mayForward(root, ['families', family, 'forward', operation], field))) continue
    report.atKey(['families', family, 'defaults', field], {
      severity: 'note',
      code: 'default_unforwarded',
      message: `requests are priced by '${field}', but no operation of family '${family}' forwards it`,
      remedy: `add ${field} to forward, or remove it from defaults`,
    })
  }
}

/** The same for one model: its family forwards the operation with the field. */
function checkModelDefaults(root: Tree, model: string, known: readonly string[], report: Report): void {
  const family = textAt(root, ['models', model, 'family'])
  if (family === undefined) return
  const rules = entriesOf(root, ['families', family, 'forward']).map(entry => entry.key)
  const operations = entriesOf(root, ['models', model, 'defaults']).map(entry => entry.key)
  // Requests in a format that the model accepts get defaults before they are translated.
  const accepts = positionsOf(root, ['models', model, 'accepts']).map(i =>
    textAt(root, ['models', model, 'accepts', i]),
  )
  for (const operation of operations.filter(name => known.includes(name) && !accepts.includes(name)))
    for (const { key: field } of entriesOf(root, ['models', model, 'defaults', operation])) {
      const isServed = rules.length === 0 || rules.includes(operation)
      if (isServed && mayForward(root, ['families', family, 'forward', operation], field)) continue
      report.atKey(['models', model, 'defaults', operation, field], {
        severity: 'note',
        code: 'default_unforwarded',
        message: `'${field}' has no effect: family '${family}' does not forward it in '${operation}'`,
        remedy: `add ${field} to forward, or remove it from defaults`,
      })
    }
}

/** `[model, prompt]`, or `{ all: true, except: [user] }`; parts with earlier findings are skipped. */
function mayForward(root: Tree, path: Path, field: string): boolean {
  const { node, whole } = findNode(root, path)
  if (!whole || node.kind === 'scalar') return true
  const listed = (list: Path): boolean => positionsOf(root, list).some(i => textAt(root, [...list, i]) === field)
  return node.kind === 'list' ? listed(path) : !listed([...path, 'except'])
}

/** Only sessions have variants by their query; the query of other requests is not matched. */
function checkQuery(root: Tree, i: number, report: Report): void {
  const path = ['routes', i, 'match']
  const texts = [path, ...positionsOf(root, path).map(at => [...path, at])]
  const at = texts.find(one => textAt(root, one)?.includes('?'))
  if (!at || entriesOf(root, ['routes', i, 'session']).length > 0) return
  const remedy = 'leave the query out, or add session'
  report.atValue(at, { code: 'route_query', message: 'only routes of sessions have a query', remedy })
}

/** A mapping by operation may only have operations with routes. */
function checkOperationKeys(root: Tree, path: Path, known: readonly string[], report: Report): void {
  for (const { key } of entriesOf(root, path)) {
    if (known.includes(key)) continue
    const remedy = report.suggest(key, known)
    const message = `no route has the operation '${key}'`
    report.atKey([...path, key], { code: 'operation_unknown', message, ...(remedy && { remedy }) })
  }
}

type Known = { readonly models: readonly string[]; readonly isKnown: (listed: string) => boolean }

function checkGroups(root: Tree, report: Report): void {
  const models = entriesOf(root, ['models']).map(entry => entry.key)
  const isKnown = modelMatcher(models)
  for (const { key } of entriesOf(root, ['groups'])) {
    checkGroupModels(root, ['groups', key, 'models'], { models, isKnown }, report)
    checkAliases(root, ['groups', key, 'aliases'], { models, isKnown }, report)
  }
  const { node, whole } = findNode(root, ['groups'])
  if (!whole || node.kind !== 'map' || node.unknown || node.entries.some(entry => entry.key === 'default')) return
  const message = "there is no group 'default'; keys of users without a group are refused"
  report.atKey(['groups'], { code: 'group_default_missing', message, severity: 'note' })
}

/** Without this check, a misspelled name would only cause refusals of clients. */
function checkGroupModels(root: Tree, path: Path, { models, isKnown }: Known, report: Report): void {
  for (const i of positionsOf(root, path)) {
    const pattern = textAt(root, [...path, i])
    if (pattern === undefined || isKnown(pattern)) continue
    const remedy = report.suggest(pattern, models)
    const message = `there is no model '${pattern}'`
    report.atValue([...path, i], { code: 'group_model_unknown', message, ...(remedy && { remedy }) })
  }
}

/** An alias is a plain name for one model. */
function checkAliases(root: Tree, path: Path, { models, isKnown }: Known, report: Report): void {
  for (const { key: alias } of entriesOf(root, path)) {
    const at = [...path, alias]
    if (starsIn(alias) > 0) {
      const message = `the alias '${alias}' has a * in its name`
      report.atKey(at, { code: 'alias_wildcard', message, remedy: 'add an alias for each name' })
    }
    const model = textAt(root, at)
    if (model === undefined || (starsIn(model) === 0 && isKnown(model))) continue
    const remedy = report.suggest(model, models)
    const message = `there is no model '${model}'`
    report.atValue(at, { code: 'alias_model_unknown', message, ...(remedy && { remedy }) })
  }
}

function entriesOf(root: Tree, path: Path): readonly Entry[] {
  const { node, whole } = findNode(root, path)
  return whole && node.kind === 'map' ? node.entries : []
}

function positionsOf(root: Tree, path: Path): readonly number[] {
  const { node, whole } = findNode(root, path)
  return whole && node.kind === 'list' ? [...node.elements.keys()] : []
}

/** The text at a path; undefined if there is none, or if it has a finding already. */
export function textAt(root: Tree, path: Path): string | undefined {
  const { node, whole } = findNode(root, path)
  return whole && node.kind === 'scalar' && !node.unknown && typeof node.value === 'string' ? node.value : undefined
}
