import type { DocsPage } from '../../admin/pages/page-data.ts'
import type { SchemaObject } from '../../admin/openapi/types.ts'
import { CodeBox } from '../kit/code-box.tsx'
import { Notes } from '../kit/notes.tsx'
import { Table } from '../kit/table.tsx'
import { Tag } from '../kit/tag.tsx'
import { language } from '../words/index.ts'
import type { EndpointOf } from './endpoint.tsx'
import { imageModels, tRule } from './image-models.ts'
import { Sizes } from './sizes.tsx'
import { t } from './words.ts'

const styles = [
  { name: 'openai', word: 'docs.style.openai', prefix: '/v1', header: 'Authorization: Bearer <API_KEY>' },
  { name: 'anthropic', word: 'docs.style.anthropic', prefix: '', header: 'x-api-key: <API_KEY>' },
  { name: 'google', word: 'docs.style.google', prefix: '', header: 'x-goog-api-key: <API_KEY>' },
] as const

export function Start({ baseUrl }: { readonly baseUrl: string }) {
  return (
    <>
      <p>{t('docs.start.keys')}</p>
      <div class="sheet">
        <Table
          label={t('docs.start.table')}
          rows={styles}
          rowKey={({ name }) => name}
          columns={[
            { head: t('docs.start.style'), heading: true, cell: ({ word }) => t(word) },
            { head: t('docs.start.base'), wide: true, cell: ({ prefix }) => <code>{baseUrl + prefix}</code> },
            { head: t('docs.start.header'), wide: true, cell: ({ header }) => <code>{header}</code> },
          ]}
        />
      </div>
      <p>
        <a href="/openapi.json">{t('docs.start.document')}</a>
      </p>
    </>
  )
}

/** Facts about each family for clients: its notes, and the result of each image size. */
export function Families({ of: { families, list } }: { readonly of: DocsPage }) {
  const drawn = imageModels(list.models)
  return (
    <>
      <p>
        {t('docs.sizes.text')} <a href={`/pricing?lang=${language.value}`}>{t('docs.sizes.prices')}</a>
      </p>
      {families.map(({ name, notes }) => {
        const models = list.models.filter(model => model.family === name)
        const first = drawn.find(model => model.family === name && model.images.sizes.length > 0)
        const noted = notes[language.value].length > 0
        if (models.length === 0 || (!noted && !first)) return null
        return (
          <article key={name} class="card" aria-labelledby={`f-${name}`}>
            <h3 id={`f-${name}`}>{t('pricing.family', { name })}</h3>
            <p class="quiet">
              {t('docs.sizes.models', { names: models.map(model => model.name).join(t('docs.list')) })}
            </p>
            {noted && <Notes of={notes} />}
            {first && <p>{tRule(first.images)}</p>}
            {first && <Sizes of={first} currency={list.currency} />}
          </article>
        )
      })}
    </>
  )
}

export function Errors({ of: { errors, errorShapes } }: { readonly of: DocsPage }) {
  return (
    <>
      <p>{t('docs.errors.text')}</p>
      <Meanings label={t('docs.errors')} heads={[t('docs.status'), t('docs.about')]} rows={Object.entries(errors)} />
      {styles.map(({ name, word }) => {
        const title = t('docs.errors.shape', { style: t(word) })
        return (
          <>
            <h3>{title}</h3>
            <CodeBox text={JSON.stringify(exampleOf(errorShapes[name] ?? {}), null, 2)} label={title} />
          </>
        )
      })}
    </>
  )
}

/** A schema example in which each text describes itself. */
function exampleOf({ type, properties, const: constant }: SchemaObject): unknown {
  if (constant !== undefined) return constant
  if (properties) {
    const members = Object.entries(properties as { readonly [name: string]: SchemaObject })
    return Object.fromEntries(members.map(([name, own]) => [name, exampleOf(own)]))
  }
  if (type === 'integer') return 429
  if (type === 'array') return []
  return Array.isArray(type) ? null : '…'
}

const headers = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-request-id',
] as const

export function Limits() {
  return (
    <>
      <p>{t('docs.limits.text')}</p>
      <Meanings
        label={t('limits')}
        heads={[t('docs.limits.header'), t('docs.limits.meaning')]}
        rows={headers.map(name => [name, t(`docs.header.${name}`)])}
      />
    </>
  )
}

export function Retries() {
  return (
    <>
      <p>{t('docs.retries.text')}</p>
      <p>{t('docs.retries.key')}</p>
      <Meanings
        label={t('docs.retries')}
        heads={[t('docs.status'), t('docs.about')]}
        rows={[
          ['409', t('docs.retry.409')],
          ['422', t('docs.retry.422')],
          ['200, idempotent-replayed: true', t('docs.retry.200')],
        ]}
      />
      <p>{t('docs.retries.charge')}</p>
    </>
  )
}

/** Names in the API, and their meanings. */
function Meanings({
  label,
  heads,
  rows,
}: {
  readonly label: string
  readonly heads: readonly [name: string, meaning: string]
  readonly rows: readonly (readonly [name: string, meaning: string])[]
}) {
  return (
    <div class="sheet">
      <Table
        label={label}
        rows={rows}
        rowKey={([name]) => name}
        columns={[
          { head: heads[0], heading: true, cell: ([name]) => <code>{name}</code> },
          { head: heads[1], wide: true, cell: ([, meaning]) => meaning },
        ]}
      />
    </div>
  )
}

const access = {
  anyone: 'docs.access.anyone',
  user: 'docs.access.user',
  keys: 'docs.access.keys',
  readers: 'docs.access.readers',
  operators: 'docs.access.operators',
  money: 'docs.access.money',
  admin: 'docs.access.admin',
} as const

export function ConsoleApi({ endpoints }: { readonly endpoints: readonly EndpointOf[] }) {
  return (
    <>
      <p>{t('docs.console.text')}</p>
      <div class="sheet">
        <Table
          label={t('docs.console')}
          rows={endpoints}
          rowKey={({ id }) => id}
          columns={[
            { head: t('docs.path'), heading: true, wide: true, cell: ({ path }) => <code>{path}</code> },
            { head: t('docs.method'), cell: ({ method }) => <Tag accent>{method}</Tag> },
            { head: t('docs.use'), wide: true, cell: ({ operation }) => operation.summary },
            {
              head: t('docs.access'),
              cell({ operation }) {
                const word = Object.entries(access).find(([name]) => name === operation['x-access'])?.[1]
                return word && t(word)
              },
            },
          ]}
        />
      </div>
    </>
  )
}
