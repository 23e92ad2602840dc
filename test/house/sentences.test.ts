import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parseSync } from 'vite'
import { units } from '../../src/domain/index.ts'
import chinesePrerendered from '../../src/console/words/prerendered/zh.json' with { type: 'json' }
import englishPrerendered from '../../src/console/words/prerendered/en.json' with { type: 'json' }
import chinese from '../../src/console/words/zh.json' with { type: 'json' }
import english from '../../src/console/words/en.json' with { type: 'json' }
import { caseName } from '../harness/case-name.ts'
import { englishVocabulary, vocabulary } from '../harness/one-vocabulary.ts'
import { plainPeriods, weekdays } from '../../src/domain/budget-period.ts'
import { chargeStates, tierSources } from '../../src/domain/charge.ts'
import { phaseNames } from '../../src/domain/phases.ts'
import { keySettings } from '../../src/domain/shapes/key.ts'
import { logMembers } from '../../src/domain/shapes/log-row.ts'
import { roles } from '../../src/domain/shapes/user.ts'
import { keyOutcomes, keyReasons, keyStates } from '../../src/domain/vendor-keys.ts'

// All text on a page is in the word lists of both languages, and none is in the code.

type Words = { readonly [word: string]: string }

/**
 * Latin words that stay in Chinese texts: names of products, protocols and units, and literal input (headers, settings,
 * commands, samples). Any other Latin text counts as an untranslated sentence.
 */
const stay = new Set(
  `
  API CIDR ID IP JSON OpenAPI RPM TPM URL USD Webhook YAML curl px p50 p95 p99 SIGHUP
  GET Idempotency-Key x-ratelimit anthropic-ratelimit request-id tokens false
  chat-completions messages generative-language
  gateway.yaml probe.path server.tls server.console_edits local tollgate ledger verify events redeliver reload g l
  req_01m7z9rxtz00wap6t5eg Europe Berlin x
  HTTP WebSocket nginx Host proxy_set_header http_host
  ASCII CSV UTF content-encoding response_format b64_json url n server.spool_max server.memory_max answer_max
  `
    .trim()
    .split(/\s+/),
)

/**
 * The Latin words in a Chinese text, without placeholders, addresses, numbers with their units, and words that may
 * stay.
 */
function latinIn(text: string): readonly string[] {
  const plain = text.replaceAll(/\{[\w.]+\}|\b\d[\w:.-]*|\/v1\/\S+/g, ' ')
  return (plain.match(/[A-Za-z](?:[\w.-]*\w)?/g) ?? []).filter(word => !stay.has(word))
}

/** Whether text to translate remains after removing placeholders and signs. */
const isSpoken = (text: string): boolean => /\p{L}{3}/u.test(text.replaceAll(/\{[\w.]+\}/g, ''))

t.test('no Chinese text equals the English one or contains English', async t => {
  t.strictSame(latinIn('请求 ID：{id}，见 gateway.yaml'), [])
  t.strictSame(latinIn('请 press {key} 再试'), ['press'])
  for (const [en, zh] of [
    [english, chinese],
    [englishPrerendered, chinesePrerendered],
  ] as readonly (readonly [Words, Words])[]) {
    t.strictSame(Object.keys(zh).toSorted(), Object.keys(en).toSorted(), 'the same words')
    for (const [word, text] of Object.entries(zh)) {
      t.strictSame(latinIn(text), [], `${word}: ${text}`)
      const same = text === en[word] && latinIn(text).length === 0 && [...stay].every(name => !text.includes(name))
      t.notOk(same && isSpoken(text), `${word} is not translated`)
    }
    for (const [word, text] of Object.entries(en)) t.notMatch(text, /\p{Script=Han}/u, word)
  }
})

type Node = { readonly type: string; readonly start: number; readonly [member: string]: unknown }

/** Attributes that are displayed or read aloud. */
const shown = new Set(['title', 'aria-label', 'aria-description', 'aria-valuetext', 'placeholder', 'alt', 'label'])
/** Attributes whose values are never displayed. */
const silent = new Set(['class', 'content', 'd', 'viewBox', 'rel'])
/** Members and parameter names whose texts are displayed in every position. */
const shownMembers = new Set(['title', 'label', 'head', 'hint', 'text', 'message', 'remedy'])
/** Selectors of parts of a page. */
const selector = /:(?:is|not|has|where)\(|\[[a-z-]+(?:[~^$*|]?=[^\]]*)?\]/
/** Names that are the same in every language. */
const names = new Set(['Tollgate', 'CSV', 'gateway.yaml', 'Ctrl', 'Ctrl K'])
/** Two words of letters: too much for a name, class or address. */
const sentence = /(?:^|[\s“"(])\p{L}[\p{L}’']+[ ,]+\p{L}[\p{L}’']*/u
const word = /\p{L}{2}/u

/** Texts in a program that a user would read and that are not in the word lists. */
function spokenIn(file: string, text: string): readonly string[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const found: string[] = []
  const say = (value: string, pattern: RegExp): void => {
    const trimmed = value.replaceAll(/\s+/g, ' ').trim()
    if (selector.test(trimmed)) return
    if ((pattern.test(trimmed) || /\p{Script=Han}/u.test(trimmed)) && !names.has(trimmed.replace(/^· /, '')))
      found.push(trimmed)
  }
  const walk = (at: unknown, isShown: boolean): void => {
    if (Array.isArray(at)) return at.forEach(one => walk(one, isShown))
    if (typeof at !== 'object' || at === null) return
    const node = at as Node
    let inside = isShown
    switch (node.type) {
      case 'JSXText':
        return say(String(node['value']), word)
      case 'JSXAttribute': {
        const name = nameOf(node['name'])
        return silent.has(name) ? undefined : walk(node['value'], shown.has(name))
      }
      case 'JSXElement':
        if (/^(?:style|script)$/.test(nameOf((node['openingElement'] as Node)['name']))) return
        walk((node['openingElement'] as Node)['attributes'], false)
        return (node['children'] as readonly Node[]).forEach(child =>
          walk(child.type === 'JSXExpressionContainer' ? child['expression'] : child, child.type !== 'JSXElement'),
        )
      case 'Property':
        inside = shownMembers.has(nameOf(node['key']))
        return walk(node['value'], inside)
      // A thrown message goes to the log.
      case 'ThrowStatement':
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'TSTypeAliasDeclaration':
        if (node.type !== 'ExportNamedDeclaration' || node['source']) return
        break
      // Texts in conditions and arguments are names, except in arguments of functions that display them.
      case 'BinaryExpression':
        return
      case 'MemberExpression':
        return walk(node['object'], false)
      case 'AssignmentExpression':
        return nameOf(node['left']) === 'className'
          ? undefined
          : walk(node['right'], nameOf(node['left']) === 'textContent')
      case 'CallExpression': {
        const called = nameOf(node['callee'])
        if (called === 't' || called === 'translate' || called === 'tName' || called === 'tBound') return
        walk(node['callee'], false)
        if (called === 'querySelector') return
        const [first, ...more] = node['arguments'] as readonly unknown[]
        walk(first, called === 'say' || called === 'label')
        return walk(more, false)
      }
      case 'NewExpression':
        return walk(
          (node['arguments'] as readonly unknown[]).slice(nameOf(node['callee']) === 'FieldError' ? 1 : 0),
          nameOf(node['callee']) === 'FieldError',
        )
      case 'ConditionalExpression':
        walk(node['test'], false)
        walk(node['consequent'], isShown)
        return walk(node['alternate'], isShown)
      case 'Literal':
        if (typeof node['value'] === 'string') say(node['value'], isShown ? word : sentence)
        return
      case 'TemplateElement':
        return say((node['value'] as { cooked?: string }).cooked ?? '', isShown ? word : sentence)
      default:
    }
    for (const [name, value] of Object.entries(node)) if (name !== 'typeAnnotation') walk(value, inside)
  }
  walk(program.body, false)
  return found
}

function nameOf(at: unknown): string {
  const node = (at ?? {}) as Node
  if (node.type === 'MemberExpression') return nameOf(node['property'])
  return typeof node['name'] === 'string' ? node['name'] : typeof node['value'] === 'string' ? node['value'] : ''
}

/** Texts that may stay in the code, each with the reason. */
const exceptions: { readonly [file: string]: { readonly texts: readonly string[]; readonly reason: string } } = {
  'src/admin/pages/index.ts': {
    texts: [
      'Get the price list: per tier, per unit, and for common sizes.',
      'The pricing page.',
      'The API reference page.',
      'This document.',
    ],
    reason: 'summaries of the interface, which src/admin/openapi/console-summaries.ts has in Chinese',
  },
  'src/console/main.tsx': {
    texts: ['无法连接网关，请刷新页面。 Cannot reach the gateway. Reload this page.'],
    reason: 'told where no words could be fetched, so in both languages',
  },
  'src/console/pages/account.tsx': {
    texts: ['语言 Language'],
    reason: 'found by whoever reads only the other language',
  },
  'src/console/pages/setup.tsx': { texts: ['语言 Language'], reason: 'found by whoever reads only the other language' },
  'src/console/pages/logs/bill.tsx': {
    texts: ['大小', '请求品质', '生成数量', '来源', '实际尺寸', '图片档位'],
    reason: 'labels of the record, as above',
  },
  'src/console/pages/logs/log-filters.tsx': {
    texts: ['图片档位', '来源'],
    reason: 'labels of the record, as above',
  },
  'src/console/pages/logs/labels.ts': {
    texts: ['应答所述', '输出尺寸', '请求尺寸', '默认'],
    reason: 'labels and values of the record, as above',
  },
  'src/console/words/index.ts': { texts: ['中文'], reason: 'what the language calls itself' },
}

const root = resolve(import.meta.dirname, '../..')
const files = execFileSync('git', ['ls-files', '-z', 'src/console', 'src/admin/pages'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter(file => /\.tsx?$/.test(file) && !file.endsWith('vite.config.ts') && !file.endsWith('build.ts'))

t.test('all page texts come from the words files', async t => {
  t.strictSame(spokenIn('a.tsx', `const a = <p title="Look here" class="two words">{t('x')} Or this</p>`), [
    'Look here',
    'Or this',
  ])
  t.strictSame(spokenIn('a.tsx', `const a = <Page title={on ? 'On' : t('off')}>{a === 'open' && 'Open'}</Page>`), [
    'On',
    'Open',
  ])
  t.strictSame(spokenIn('a.ts', `say(\`Saved \${name}\`); const b = { head: 'Name', class: 'a b' }`), ['Saved', 'Name'])
  t.ok(files.length > 80)
  for (const file of files) {
    const spoken = [...new Set(spokenIn(file, readFileSync(join(root, file), 'utf8')))]
    t.strictSame(spoken.toSorted(), [...(exceptions[file]?.texts ?? [])].toSorted(), file)
  }
})

// Names that the gateway defines and pages display. Each list is read from the source, or from the output of the
// source.

const source = execFileSync('git', ['ls-files', '-z', 'src', 'plugins'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter(file => file.endsWith('.ts') && !file.startsWith('src/console'))
  .map(file => [file, readFileSync(join(root, file), 'utf8')] as const)

/** The distinct first-group matches of a pattern in the files whose path matches. */
function written(within: RegExp, pattern: RegExp): readonly string[] {
  const found = source.filter(([file]) => within.test(file)).flatMap(([, text]) => [...text.matchAll(pattern)])
  return [...new Set(found.flatMap(([, ...groups]) => groups.filter(Boolean)))]
}

const lists: { readonly [prefix: string]: readonly string[] } = {
  status: [
    ...chargeStates,
    ...(logMembers.outcome.schema.enum as readonly string[]),
    ...keyStates,
    'answered_error',
    ...'active disabled revoked expired'.split(' '),
    ...'healthy unhealthy simulated not_asked other_revision reconciled differs'.split(' '),
    ...'error warning note taken refused'.split(' '),
  ],
  source: tierSources,
  key_reason: keyReasons,
  key_outcome: keyOutcomes,
  phase: phaseNames,
  period: [...plainPeriods, 'week'],
  weekday: weekdays,
  role: roles,
  flag: [
    ...written(/^plugins\//, /flags\.push\('(\w+)'\)|flags: \['(\w+)'\]|\? \[\.\.\.flags, '(\w+)'\]/g),
    ...written(/^plugins\/token-usage\//, /return '(usage_\w+)'/g),
    ...written(/^src\/domain\//, /omittedFlag = '(\w+)'/g),
  ],
  charge_reason: [
    ...written(
      /^(?:plugins|src\/storage)\//,
      /ledger\.void\(id, '(\w+)'|#?[rR]eview\((?:facts\.id, )?'(\w+)'|delivery: '\w+', reason: '(\w+)'|state: '\w+', reason: '(\w+)'|nothing\('(\w+)'\)|missing: \[\], reason: '(\w+)'|return '(usage_missing|usage_implausible|nothing_used)'|\? '(line_not_recorded)' : '(\w+)'|return `(answer_unrecognised|parts_omitted|unpriced): /g,
    ),
    ...['caller', 'upstream', 'deadline', 'gateway'].map(who => `cut_by_${who}`),
    ...['unknown', 'truncated'].map(reach => `outcome_${reach}`),
    ...written(/ledger\/recover\.ts$/, /const stopped = '(\w+)'/g),
  ],
  action: [
    ...written(/^src\/storage\//, /leave\([^']*'([a-z_]+\.[a-z_]+)'(?: : '([a-z_]+\.[a-z_]+)')?/g),
    ...written(/^src\//, /\baction(?:: | = .* \? )'([a-z_]+\.[a-z_]+)'(?: : '([a-z_]+\.[a-z_]+)')?/g),
  ],
  // Names of settings of keys and users, and other names in the log of changes.
  field: [
    ...Object.keys(keySettings),
    ...written(/^src\/admin\/routes\/audit\.ts$/, /\bname: '([a-z_]+)'/g),
    ...'group role status state why until hint old_secret_until user name issuer remote'.split(' '),
    ...'revision changes files backups'.split(' '),
  ],
  alert: written(/^src\/admin\/alerts\.ts$/, /^ {2}\| '([a-z_.]+)'$/gm).flatMap(kind => [
    kind,
    `${kind}.text`,
    `${kind}.do`,
  ]),
  unit: [...units.keys()],
}

t.test('every gateway name on a page has words in both languages', async t => {
  for (const [prefix, names] of Object.entries(lists)) {
    t.ok(names.length > 2, `${prefix}: ${names.length} names were found`)
    for (const name of names)
      for (const [language, words] of [
        ['en', english],
        ['zh', chinese],
      ] as readonly (readonly [string, Words])[])
        t.ok(words[`${prefix}.${name}`], `${prefix}.${name} in ${language}`)
  }
})

/** The sources of the Chinese texts for users, and of the English texts of pages. */
const spoken = execFileSync(
  'git',
  [
    'ls-files',
    '-z',
    'src/console/words',
    'src/admin/openapi',
    'src/operations',
    'plugins',
    'src/domain',
    'src/plugin-api',
    'README.zh.md',
  ],
  { cwd: root, encoding: 'utf8' },
)
  .split('\0')
  .filter(file => /\.(?:json|ts|zh\.md)$/.test(file))

/** The texts of a file: Chinese texts, and for word lists also all other texts. */
function textsOf(file: string): { readonly zh: readonly string[]; readonly en: readonly string[] } {
  const text = readFileSync(join(root, file), 'utf8')
  const isChinese = (one: string): boolean => /\p{Script=Han}/u.test(one)
  if (file.endsWith('.md')) return { zh: text.split('\n').filter(isChinese).map(unmarked), en: [] }
  if (file.endsWith('.ts'))
    return { zh: (text.match(/'[^'\n]*'|`[^`]*`/g) ?? []).filter(isChinese).map(unmarked), en: [] }
  const values = leavesOf(JSON.parse(text)).map(unmarked)
  return { zh: values.filter(isChinese), en: values.filter(one => !isChinese(one)) }
}

const unmarked = (text: string): string => text.replaceAll(/(?<!^)`[^`]*`(?!$)|\$?\{[^}]*\}/g, '')

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Object.values(value as object).flatMap(leavesOf)
}

t.test('the console, the public pages and the reference use one term for each concept', async t => {
  t.ok(spoken.length > 50)
  for (const file of spoken) {
    const { zh, en } = textsOf(file)
    for (const { is, not } of vocabulary)
      t.strictSame(
        zh.filter(text => not.test(text)),
        [],
        caseName({ file, is }),
      )
    for (const { is, not } of englishVocabulary)
      t.strictSame(
        en.filter(text => not.test(text)),
        [],
        caseName({ file, is }),
      )
  }
})
