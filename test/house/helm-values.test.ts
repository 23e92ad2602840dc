import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'

const chart = resolve(import.meta.dirname, '../../deploy/helm/tollgate')
const read = (file: string) => readFile(join(chart, file), 'utf8')

type Values = { readonly [name: string]: unknown }
const defaults = parse(await read('values.yaml')) as Values
const fleet = parse(await read('values-fleet.yaml')) as Values
const schema = JSON.parse(await read('values.schema.json')) as object
// Helm validates with draft-07, after merging the defaults.
const validate = new Ajv({
  allErrors: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  strictTypes: false,
}).compile(schema)

/** Merges values as Helm does before validation: mappings are merged, other values are replaced. */
function merge(under: unknown, own: unknown): unknown {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMap(under) || !isMap(own)) return own
  return Object.fromEntries(
    [...new Set([...Object.keys(under), ...Object.keys(own)])].map(key => {
      return [key, key in own ? merge(under[key], own[key]) : under[key]]
    }),
  )
}

const faultsOf = (values: unknown): readonly string[] =>
  validate(merge(defaults, values))
    ? []
    : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)

t.test('the schema of the chart admits its own values, and each that Kubernetes admits', t => {
  const good: readonly Values[] = [
    {},
    fleet,
    { storage: { sqlite: { size: '1.5Ti', existingClaim: 'kept' } }, replicas: 0 },
    {
      env: [
        { name: 'A', value: '1' },
        { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      ],
    },
    { image: { digest: `sha256:${'0'.repeat(64)}` }, imagePullSecrets: [{ name: 'registry' }] },
    { server: { public_url: 'https://ai.example.com', cors: { origins: ['*'] } } },
    { disruptionBudget: { maxUnavailable: '50%' }, service: { type: 'LoadBalancer', annotations: { a: 'b' } } },
    { ingress: { enabled: true, tlsSecret: 'tls' }, serviceMonitor: { enabled: true, labels: { release: 'p' } } },
    { tolerations: [{ key: 'images', operator: 'Exists' }], affinity: { nodeAffinity: {} }, global: {} },
  ]
  for (const values of good) t.strictSame(faultsOf(values), [], JSON.stringify(values))
  t.end()
})

t.test('it refuses values that are misspelt, of another type, or cannot work together', t => {
  const wrong: readonly (readonly [Values, string])[] = [
    [{ replica: 2 }, ' additionalProperties'],
    [{ image: { repo: 'x' } }, '/image additionalProperties'],
    [{ image: { repository: '' } }, '/image/repository minLength'],
    [{ image: { digest: 'latest' } }, '/image/digest pattern'],
    [{ replicas: '2' }, '/replicas type'],
    [{ onChange: 'reload' }, '/onChange enum'],
    [{ storage: { kind: 'postgresql' } }, '/storage/kind enum'],
    [{ storage: { sqlite: { size: '10 GB' } } }, '/storage/sqlite/size pattern'],
    [{ secrets: 'tollgate' }, '/secrets type'],
    [{ env: { A: '1' } }, '/env type'],
    [{ env: [{ name: 'A', value: 1 }] }, '/env/0/value type'],
    [{ server: { listen: '0.0.0.0:80' } }, '/server propertyNames'],
    [{ service: { port: 0 } }, '/service/port minimum'],
    [{ serviceMonitor: { interval: 15 } }, '/serviceMonitor/interval type'],
    [{ ingress: { annotations: { a: true } } }, '/ingress/annotations/a type'],
    [{ replicas: 2 }, '/replicas maximum'],
    [{ autoscaling: { enabled: true } }, '/autoscaling/enabled const'],
    [{ ...fleet, counters: { kind: 'memory' } }, '/counters/kind const'],
    [{ ...fleet, secrets: [] }, '/secrets minItems'],
  ]
  for (const [values, fault] of wrong) t.ok(faultsOf(values).includes(fault), `${JSON.stringify(values)}: ${fault}`)
  t.end()
})

t.test('it has every value of the chart, and no other', t => {
  const properties = (schema as { properties: { [name: string]: { properties?: object } } }).properties
  t.strictSame(
    Object.keys(properties)
      .filter(name => name !== 'global')
      .toSorted(),
    Object.keys(defaults).toSorted(),
  )
  for (const [name, { properties: inner }] of Object.entries(properties)) {
    if (!inner || name === 'resources') continue
    t.strictSame(Object.keys(inner).toSorted(), Object.keys(defaults[name] as object).toSorted(), name)
  }
  t.end()
})
