import type { ApiDocument, OperationObject, ParameterObject, SchemaObject } from '../../admin/openapi/types.ts'
import { CodeBox } from '../kit/code-box.tsx'
import { Table } from '../kit/table.tsx'
import { Tag } from '../kit/tag.tsx'
import { t } from './words.ts'

export type EndpointOf = {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly operation: OperationObject
}

/** Every endpoint of a document, in its order. */
export function endpointsOf({ paths }: ApiDocument): readonly EndpointOf[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      return { id: operation.operationId, method: method.toUpperCase(), path, operation }
    }),
  )
}

export function Endpoint({ of, api }: { readonly of: EndpointOf; readonly api: ApiDocument }) {
  const { id, method, path, operation } = of
  const { summary, description = '', parameters = [], requestBody, 'x-models': models = [] } = operation
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return (
    <article class="card" aria-labelledby={id}>
      <h3 id={id}>{summary}</h3>
      <p class="path">
        <Tag accent>{method}</Tag> <span>{path}</span> {type && <span class="kind">{type}</span>}
      </p>
      {description !== '' && <p>{description}</p>}
      {requestBody && <Models of={models} />}
      {parameters.length > 0 && (
        <>
          <h4>{t('docs.parameters')}</h4>
          <Parameters label={`${summary}${t('colon')}${t('docs.parameters')}`} of={parameters} />
        </>
      )}
      {media && (
        <>
          <h4>{t('details.fields')}</h4>
          <Fields label={`${summary}${t('colon')}${t('details.fields')}`} of={media.schema} />
          <p class="quiet">{t('docs.other_fields')}</p>
        </>
      )}
      <details>
        <summary>{t('docs.answers')}</summary>
        <Answers api={api} of={operation} />
      </details>
      <Samples of={operation} />
    </article>
  )
}

function Models({ of }: { readonly of: readonly string[] }) {
  return (
    <p class="tags">
      <span class="quiet">{t('nav.models')}</span>
      {of.length === 0 && t('docs.no_model')}
      {of.map(name => (
        <Tag key={name}>{name}</Tag>
      ))}
    </p>
  )
}

function FieldName({ name, required }: { readonly name: string; readonly required: boolean }) {
  return (
    <>
      <code>{name}</code>
      {required && <span class="required"> {t('required')}</span>}
    </>
  )
}

function Parameters({ label, of }: { readonly label: string; readonly of: readonly ParameterObject[] }) {
  return (
    <Table
      label={label}
      rows={of}
      rowKey={({ name }) => name}
      columns={[
        {
          head: t('docs.field'),
          heading: true,
          cell: ({ name, required }) => <FieldName name={name} required={required === true} />,
        },
        { head: t('docs.about'), wide: true, cell: ({ description }) => description },
      ]}
    />
  )
}

function Fields({ label, of }: { readonly label: string; readonly of: SchemaObject }) {
  const properties = (of['properties'] ?? {}) as { readonly [name: string]: SchemaObject }
  const required = (of['required'] ?? []) as readonly string[]
  return (
    <Table
      label={label}
      rows={Object.entries(properties)}
      rowKey={([name]) => name}
      columns={[
        {
          head: t('docs.field'),
          heading: true,
          cell: ([name]) => <FieldName name={name} required={required.includes(name)} />,
        },
        { head: t('docs.type'), wide: true, cell: ([, field]) => <span class="kind">{tType(field)}</span> },
        {
          head: t('docs.about'),
          wide: true,
          sparse: true,
          cell: ([, { description }]) => typeof description === 'string' && description,
        },
      ]}
    />
  )
}

function tType({ type, enum: values, items, contentMediaType }: SchemaObject): string {
  if (contentMediaType) return t('docs.type.file')
  if (type === 'array' && items && 'contentMediaType' in (items as SchemaObject)) return t('docs.type.files')
  if (Array.isArray(values)) return values.join(' | ')
  return typeof type === 'string' ? type : t('docs.type.any')
}

function Answers({ api, of }: { readonly api: ApiDocument; readonly of: OperationObject }) {
  const shared = api.components['responses'] as { readonly [name: string]: { readonly description: string } }
  return (
    <Table
      label={`${of.summary}${t('colon')}${t('docs.answers')}`}
      rows={Object.entries(of.responses)}
      rowKey={([status]) => status}
      columns={[
        { head: t('docs.status'), heading: true, cell: ([status]) => <code>{status}</code> },
        {
          head: t('docs.about'),
          wide: true,
          cell: ([, answer]) =>
            '$ref' in answer ? shared[answer.$ref.split('/').at(-1) ?? '']?.description : answer.description,
        },
      ]}
    />
  )
}

function Samples({ of: { 'x-codeSamples': samples = [], summary } }: { readonly of: OperationObject }) {
  if (samples.length === 0) return null
  return (
    <div class="samples">
      <h4>{t('snippets')}</h4>
      {samples.map(({ label, source }, i) => (
        <details key={label} open={i === 0} data-sample={label}>
          <summary>{label}</summary>
          <CodeBox text={source} label={`${summary}${t('colon')}${label}`} />
        </details>
      ))}
    </div>
  )
}
