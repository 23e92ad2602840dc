import { Ajv } from 'ajv'
import t from 'tap'
import { inspect } from '../../plugins/size-normalize/inspect.ts'
import { expectedSize, readRequestedSize } from '../../plugins/size-normalize/expected-size.ts'
import { sendFields } from '../../plugins/size-normalize/send-fields.ts'
import { sizeNormalize } from '../../plugins/size-normalize/plugin.ts'
import { readSize } from '../../plugins/size-normalize/read-size.ts'
import { facetSchema, type SizeFacet } from '../../plugins/size-normalize/schema.ts'
import { nearestRatio, parseRatio, resolutionOf } from '../../plugins/size-normalize/snap.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { type Body, type Json, readField } from '../../src/domain/index.ts'
import { askedSizeSlot, type Target } from '../../src/plugin-api/index.ts'
import { refusalOf, someExchange, someHost, someTarget } from '../harness/request-context.ts'
import { caseName } from '../harness/case-name.ts'

const admits = new Ajv({ useDefaults: true, allowUnionTypes: true }).compile<SizeFacet>(facetSchema)

/** A facet as the configuration passes it: validated, with defaults. @throws Error when the schema refuses it */
function facet(written: object): SizeFacet {
  const copy: unknown = structuredClone(written)
  if (!admits(copy)) throw new Error(JSON.stringify(admits.errors))
  return copy
}

const writtenA = {
  rule: 'ratio',
  ratios: ['1:1', '3:2', '2:3', '3:4', '16:9'],
  pixels_min: 690_000,
  otherwise: '1:1',
  applies_to: ['image.generate'],
  send: { size: 'as-sent' },
  pixels: { '1:1': '1254x1254', '16:9': '1672x941', '3:2': '1536x1024' },
}
const writtenB = {
  rule: 'snap',
  resolutions: [{ label: '1k', long_edge_max: 1024 }, { label: '2k' }],
  ratios: ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '2:1', '1:2', '19.5:9', '9:19.5', '20:9', '9:20'],
  send: { resolution: '{resolution}', aspect_ratio: '{ratio}' },
  pixels: { '2k 16:9': '2816x1584', '1k 1:1': '1024x1024', '2k 1:1': '2048x2048', '2k 3:2': '2496x1664' },
}
const familyA = facet(writtenA)
const familyB = facet(writtenB)
const { send: _, ...unsent } = writtenB
const familyBAsSent = facet({ ...unsent, send: { size: 'as-sent' } })

const hooks = sizeNormalize.create({}, someHost())

function jsonBody(object: { readonly [name: string]: Json }): Body {
  return { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(object))) }
}

function formBody(fields: { readonly [name: string]: string }): Body {
  const parts = Object.entries(fields).map(([name, value]) => ({ kind: 'text', name, value }) as const)
  return {
    kind: 'form',
    parts,
    encode: () => ({
      contentType: '',
      bytes: 0,
      open: () => {
        throw new Error('not read here')
      },
    }),
    discard() {},
  }
}

/** The upstream request of a family, and the known facts about its size. */
async function pass(family: SizeFacet, body: Body, operation = 'image.generate') {
  const context = someExchange({ route: { operation } })
  const target: Target = someTarget({ body, facets: new Map([['size-normalize', family]]) })
  await hooks.onTarget?.(context, target, family)
  const out = await hooks.onForward?.(context, { body, headers: {}, detach: false }, family, target)
  if (!out) throw new Error('nothing was sent')
  return {
    asked: context.slots.need(askedSizeSlot),
    body: out.body,
    sent: {
      size: readField(out.body, 'size'),
      resolution: readField(out.body, 'resolution'),
      aspect_ratio: readField(out.body, 'aspect_ratio'),
    },
  }
}

const written = (size: { width: number; height: number } | null) => size && `${size.width}x${size.height}`

t.test('results of family A for a size (4.3)', async t => {
  const rows = [
    ['512x512', '1254x1254'],
    ['1024x1024', '1254x1254'],
    ['600x800', '1254x1254'],
    ['3840x2160', '1672x941'],
    ['1536x1024', '1536x1024'],
  ]
  for (const [size = '', expected] of rows)
    t.equal(written(readRequestedSize(familyA, 'image.generate', size).expected), expected, size)
})

t.test('results of family A beyond its table', async t => {
  const rows: readonly [string | null, string | null][] = [
    // Fewer than 690,000 pixels, whatever the ratio; 690,000 are enough.
    ['1016x678', '1254x1254'],
    ['1020x680', '1536x1024'],
    // Ratios other than the five.
    ['1920x1200', '1254x1254'],
    ['2160x3840', '1254x1254'],
    // Within 1 % of a ratio, and outside of it.
    ['1515x1000', '1536x1024'],
    ['1516x1000', '1254x1254'],
    ['1366x768', '1672x941'],
    // A ratio that is not in the table.
    ['1024x1536', null],
    // No readable size: the table has no row for it.
    [null, null],
    ['auto', null],
    ['tiny', null],
  ]
  for (const [size, expected] of rows)
    t.equal(written(readRequestedSize(familyA, 'image.generate', size).expected), expected, String(size))
  t.equal(readRequestedSize(familyA, 'image.edit', '3840x2160').expected, null, 'in edits size has no effect')
})

t.test("family A's size is forwarded unchanged, readable or not", async t => {
  for (const size of ['3840x2160', ' 512X512 ', 'auto', 'tiny', '', '0x0', 1024, null, ['1x1'], true] as Json[])
    for (const operation of ['image.generate', 'image.edit']) {
      const body = jsonBody({ model: 'm', size })
      t.equal((await pass(familyA, body, operation)).body, body, JSON.stringify(size))
    }
})

t.test('what family B is sent and returns for a size (4.3)', async t => {
  const rows = [
    { size: undefined, resolution: '2k', aspect_ratio: undefined, expected: null },
    { size: '1024x1024', resolution: '1k', aspect_ratio: '1:1', expected: '1024x1024' },
    { size: '2048x1152', resolution: '2k', aspect_ratio: '16:9', expected: '2816x1584' },
    { size: '3840x2160', resolution: '2k', aspect_ratio: '16:9', expected: '2816x1584' },
    { size: '1k', resolution: '1k', aspect_ratio: undefined, expected: null },
    { size: '2k', resolution: '2k', aspect_ratio: undefined, expected: null },
    { size: ' 2K', resolution: '2k', aspect_ratio: undefined, expected: null },
    { size: 'auto', resolution: '2k', aspect_ratio: undefined, expected: null },
    { size: '', resolution: '2k', aspect_ratio: undefined, expected: null },
    { size: '1024X768', resolution: '1k', aspect_ratio: '4:3', expected: null },
    { size: '1025×1025', resolution: '2k', aspect_ratio: '1:1', expected: '2048x2048' },
    { size: '1536x1024', resolution: '2k', aspect_ratio: '3:2', expected: '2496x1664' },
    { size: '1024x1', resolution: '1k', aspect_ratio: '20:9', expected: null },
  ]
  for (const { size, resolution, aspect_ratio, expected } of rows) {
    const fields = { model: 'm', ...(size !== undefined && { size }) }
    const name = size === undefined ? 'none' : `'${size}'`
    for (const [operation, body] of [
      ['image.generate', jsonBody(fields)],
      ['image.edit', formBody(fields)],
    ] as const) {
      const { sent, asked } = await pass(familyB, body, operation)
      t.same(sent, { size: undefined, resolution, aspect_ratio }, `${operation} ${name}`)
      t.equal(written(asked.expected), expected, `${operation} ${name}`)
      t.equal(asked.resolution, resolution, caseName({ size, resolution, aspect_ratio, expected }))
      t.equal(asked.text, size === '' ? null : (size ?? null), caseName({ size, resolution, aspect_ratio, expected }))
    }
    const asSent = await pass(familyBAsSent, jsonBody(fields))
    t.equal(asSent.sent.size, size, `as-sent ${name}`)
    t.equal(asSent.sent.resolution, undefined, caseName({ size, resolution, aspect_ratio, expected }))
    t.equal(written(asSent.asked.expected), expected, caseName({ size, resolution, aspect_ratio, expected }))
  }
})

t.test('an unreadable size is 400 for a family that snaps, with valid ones', async t => {
  const unread: Json[] = [
    'tiny',
    '4k',
    '1024',
    'x',
    '1024x',
    'x1024',
    '0x0',
    '0x1024',
    '1024x0',
    '-1x1024',
    '1024x-1',
    '+1x1',
    '1e3x1e3',
    '1.5x2',
    '0x10x20',
    '1024x1024x1024',
    '1024 x 1024',
    '1024*1024',
    '1024,1024',
    '01024x1024',
    '１０２４x１０２４',
    '99999999999999999999x1',
    '9007199254740992x1',
    'Infinityx1',
    'nullxnull',
    '1kk',
    '2k 16:9',
    1024,
    0,
    true,
    false,
    [],
    ['1024x1024'],
    { width: 1 },
  ]
  for (const size of unread)
    for (const family of [familyB, familyBAsSent]) {
      const failure = await refusalOf(() => pass(family, jsonBody({ model: 'm', size })))
      t.match(failure, { status: 400, code: 'invalid_size', param: 'size' }, JSON.stringify(size))
      t.match(failure.message, /1024x1024, or one of 1k, 2k, or omit size/, caseName({ size, family }))
    }
  t.equal((await refusalOf(() => pass(familyB, formBody({ size: 'tiny' }), 'image.edit'))).status, 400)
})

t.test('a very long size is neither echoed nor stored whole', async t => {
  const size = 'x'.repeat(1_000_000)
  t.ok((await refusalOf(() => pass(familyB, jsonBody({ size })))).message.length < 400)
  const { asked, body } = await pass(familyA, jsonBody({ size }))
  t.equal(asked.text?.length, 101)
  t.equal(readField(body, 'size'), size)
})

t.test('readable sizes', async t => {
  const labels = ['1k', '2k']
  const none = { kind: 'none' }
  const rows: readonly [Json | undefined, object][] = [
    [undefined, none],
    [null, none],
    ['', none],
    [' \t', none],
    ['auto', none],
    [' AUTO ', none],
    ['1x1', { kind: 'pixels', width: 1, height: 1 }],
    [' 640x480\n', { kind: 'pixels', width: 640, height: 480 }],
    ['640X480', { kind: 'pixels', width: 640, height: 480 }],
    ['640×480', { kind: 'pixels', width: 640, height: 480 }],
    ['9007199254740991x1', { kind: 'pixels', width: 9007199254740991, height: 1 }],
    ['2K', { kind: 'label', label: '2k' }],
    ['4k', { kind: 'unread' }],
  ]
  for (const [value, size] of rows) t.same(readSize(value, labels).size, size, JSON.stringify(value))
  t.equal(readSize(' 640x480 ', []).text, ' 640x480 ', 'the text is kept as sent')
  t.equal(readSize(1024, []).text, '1024')
  t.equal(readSize('auto', []).text, 'auto')
})

t.test('the nearest ratio is nearest by logarithm, and of two equally near the first listed', async t => {
  const ratios = writtenB.ratios.map(text => parseRatio(text) ?? { text, value: NaN })
  const nearest = (width: number, height: number, list = ratios) => nearestRatio(width, height, list)?.text
  for (const { text, value } of ratios)
    t.equal(nearest(Math.round(value * 90_000), 90_000), text, caseName({ text, value }))
  t.equal(nearest(1, 1_000_000), '9:20')
  t.equal(nearest(1_000_000, 1), '20:9')
  // √2 is half way from 1:1 to 2:1 by logarithm, 1.5 by difference.
  const two = ['1:1', '2:1'].map(text => parseRatio(text) ?? { text, value: NaN })
  t.equal(nearest(1414, 1000, two), '1:1')
  t.equal(nearest(1415, 1000, two), '2:1')
  // 4:2 is exactly as far from 1:1 as from 4:1.
  const far = ['4:1', '1:1'].map(text => parseRatio(text) ?? { text, value: NaN })
  t.equal(nearest(200, 100, far), '4:1')
  t.equal(nearest(200, 100, far.toReversed()), '1:1')
  // And 1:1 from 3:2 as from 2:3, whose logarithms differ in their last digit.
  const pair = ['3:2', '2:3'].map(text => parseRatio(text) ?? { text, value: NaN })
  t.equal(nearest(500, 500, pair), '3:2')
  t.equal(nearest(500, 500, pair.toReversed()), '2:3')
})

t.test('the long edge decides the resolution: up to 1024 the smaller, from 1025 the larger', async t => {
  const rows = [
    { label: '1k', longEdgeMax: 1024 },
    { label: '2k', longEdgeMax: null },
  ]
  for (const [edge, label] of [
    [1, '1k'],
    [1024, '1k'],
    [1025, '2k'],
    [1e9, '2k'],
  ] as const)
    t.equal(resolutionOf(edge, rows)?.label, label, caseName({ edge, label }))
  t.equal((await pass(familyB, jsonBody({ size: '576x1024' }))).sent.resolution, '1k')
  t.equal((await pass(familyB, jsonBody({ size: '576x1025' }))).sent.resolution, '2k')
})

t.test('the sent fields are data', async t => {
  const own = facet({
    rule: 'snap',
    resolutions: [{ label: 'small', long_edge_max: 512 }, { label: 'medium', long_edge_max: 1024 }, { label: 'large' }],
    ratios: ['1:1', '2:1'],
    otherwise: 'medium',
    send: { quality: '{resolution}', shape: 'r={ratio}', fixed: 'yes' },
    pixels: { 'small 2:1': '512x256' },
  })
  t.same(
    [...sendFields(own, 'image.generate', { kind: 'none' })],
    [
      ['size', undefined],
      ['quality', 'medium'],
      ['fixed', 'yes'],
    ],
  )
  t.same(
    [...sendFields(own, 'image.edit', { kind: 'pixels', width: 200, height: 101 })],
    [
      ['size', undefined],
      ['quality', 'small'],
      ['shape', 'r=2:1'],
      ['fixed', 'yes'],
    ],
  )
  t.same(expectedSize(own, 'image.edit', { kind: 'pixels', width: 200, height: 101 }), { width: 512, height: 256 })
  const both = facet({ ...unsent, send: { size: 'as-sent', resolution: '{resolution}' } })
  t.same([...sendFields(both, 'image.generate', { kind: 'label', label: '1k' })], [['resolution', '1k']])
})

t.test('an operation without the rule is left alone', async t => {
  for (const size of ['2k', 'tiny', '1024x1024', undefined]) {
    const body = jsonBody({ model: 'm', ...(size !== undefined && { size }) })
    const { body: sent, asked } = await pass(familyB, body, 'chat')
    t.equal(sent, body, caseName({ size }))
    t.equal(asked.expected, null, caseName({ size }))
  }
})

t.test('the rest of a form keeps its order and its files', async t => {
  const { body } = await pass(familyB, formBody({ model: 'm', size: '1024x1024', prompt: 'a boat' }), 'image.edit')
  t.same(body.kind === 'form' && body.parts.map(part => part.name), ['model', 'prompt', 'resolution', 'aspect_ratio'])
})

t.test('the schema refuses an invalid section', async t => {
  for (const wrong of [
    {},
    { rule: 'crop', ratios: ['1:1'] },
    { ...writtenA, ratios: [] },
    { ...writtenA, pixels: { '1:1': '1254' } },
    { ...writtenA, pixels: { '1:1': '0x1254' } },
    { ...writtenB, send: {} },
    { ...writtenB, resolutions: [] },
    { ...writtenB, resolutions: [{ label: '1k', long_edge: 1 }] },
    { ...writtenB, snap: true },
  ])
    t.notOk(admits(structuredClone(wrong)), JSON.stringify(wrong))
})

t.test('the meaning is checked when the configuration is read', async t => {
  const family = { forward: new Map() }
  t.same(inspect(familyA, family), [])
  t.same(inspect(familyB, family), [])
  t.same(inspect(familyBAsSent, family), [])
  const rows: readonly [object, string, readonly (string | number)[]][] = [
    [{ ...writtenB, ratios: [...writtenB.ratios, '16-9'] }, 'ratio_malformed', ['ratios', 13]],
    [{ ...writtenB, ratios: [...writtenB.ratios, '0:1'] }, 'ratio_malformed', ['ratios', 13]],
    [{ ...writtenB, ratios: [...writtenB.ratios, '1:0'] }, 'ratio_malformed', ['ratios', 13]],
    [{ ...writtenB, ratios: [...writtenB.ratios, '16:9'] }, 'ratio_repeated', ['ratios', 13]],
    [{ ...writtenB, ratios: [...writtenB.ratios, '32:18'] }, 'ratio_repeated', ['ratios', 13]],
    [{ ...writtenB, resolutions: [{ label: '1k' }, { label: '2k' }] }, 'threshold_missing', ['resolutions', 0]],
    [
      {
        ...writtenB,
        resolutions: [
          { label: '1k', long_edge_max: 9 },
          { label: '2k', long_edge_max: 10 },
        ],
      },
      'threshold_unfit',
      ['resolutions', 1, 'long_edge_max'],
    ],
    [
      {
        ...writtenB,
        resolutions: [{ label: '1k', long_edge_max: 9 }, { label: '3k', long_edge_max: 9 }, { label: '2k' }],
      },
      'thresholds_not_rising',
      ['resolutions', 1, 'long_edge_max'],
    ],
    [
      { ...unsent, pixels: {}, resolutions: [{ label: '1k', long_edge_max: 9 }, { label: '1K' }] },
      'label_repeated',
      ['resolutions', 1, 'label'],
    ],
    [
      { ...unsent, pixels: {}, resolutions: [{ label: '1x1', long_edge_max: 9 }, { label: '2k' }] },
      'label_unfit',
      ['resolutions', 0, 'label'],
    ],
    [{ ...unsent, pixels: {}, resolutions: [{ label: 'Auto' }] }, 'label_unfit', ['resolutions', 0, 'label']],
    [{ ...writtenB, otherwise: '4k' }, 'resolution_unknown', ['otherwise']],
    [{ ...writtenB, pixels_min: 1 }, 'key_unfit', ['pixels_min']],
    [{ ...writtenB, within_percent: 2 }, 'key_unfit', ['within_percent']],
    [{ ...writtenB, pixels: { '16:9': '1x1' } }, 'shape_unknown', ['pixels', '16:9']],
    [{ ...writtenB, pixels: { '4k 16:9': '1x1' } }, 'shape_unknown', ['pixels', '4k 16:9']],
    [{ ...writtenB, send: { resolution: '{resolutoin}' } }, 'template_unknown', ['send', 'resolution']],
    [{ ...writtenB, send: { resolution: '{resolution' } }, 'template_unknown', ['send', 'resolution']],
    [{ ...writtenB, send: { resolution: 'as-sent' } }, 'template_unfit', ['send', 'resolution']],
    [{ ...writtenB, applies_to: ['image.make'] }, 'operation_unknown', ['applies_to', 0]],
    [{ rule: 'snap', ratios: ['1:1'] }, 'resolutions_missing', ['rule']],
    [{ ...writtenA, resolutions: [{ label: '2k' }] }, 'key_unfit', ['resolutions']],
    [{ ...writtenA, otherwise: 'square' }, 'ratio_malformed', ['otherwise']],
    [{ ...writtenA, send: { aspect_ratio: '{ratio}' } }, 'template_unfit', ['send', 'aspect_ratio']],
    [{ ...writtenA, pixels: { '9:16': '1x1' } }, 'shape_unknown', ['pixels', '9:16']],
  ]
  for (const [wrong, code, path] of rows) {
    const problems = inspect(facet(wrong), family)
    t.same(
      problems.map(problem => ({ code: problem.code, path: problem.path, severity: problem.severity })),
      [{ code, path, severity: 'error' }],
      `${code} at ${path.join('.')}`,
    )
    t.ok(
      problems.every(problem => problem.message && problem.remedy),
      caseName({ wrong, code, path }),
    )
  }
  t.same(
    inspect(facet({ ...writtenB, applies_to: ['image.make'] }), {
      forward: new Map([['image.make', { kind: 'all', except: new Set<string>() }]]),
    }),
    [],
  )
})
