import type { Plan, PriceList } from '../../kit/index.ts'
import { apiWords } from '../openapi/api-words.ts'
import { errorShapes } from '../openapi/errors.ts'
import type { CodeSample } from '../../operations/index.ts'
import type { ApiDocument, OperationObject, SchemaObject } from '../openapi/types.ts'
import { type DocsWords, docsWords } from './docs-words.ts'
import { renderFrame } from './frame.ts'
import { type Html, html } from './html.ts'
import type { Language } from './language.ts'
import { imageModels, renderSizes } from './sizes.ts'
import { renderTable } from './table.ts'
import { words } from './words.ts'

export type DocsPage = {
  readonly language: Language
  readonly api: ApiDocument
  readonly plan: Plan
  readonly list: PriceList
  readonly baseUrl: string
}

type Endpoint = {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly operation: OperationObject
}

/** The reference for people, from the same document that `/openapi.json` gives. It needs no script. */
export function renderDocs(page: DocsPage): string {
  const { language, api } = page
  const text = docsWords[language]
  const endpoints = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Endpoint => {
      return { id: operation.operationId, method: method.toUpperCase(), path, operation }
    }),
  )
  const ours = endpoints.filter(({ operation }) => operation.tags.includes('gateway'))
  const consoles = endpoints.filter(({ operation }) => operation.tags.includes('console'))
  const chapters: readonly (readonly [id: string, title: string, content: Html])[] = [
    ['start', text.start.title, renderStart(page, text)],
    ['endpoints', text.endpoints, html`${ours.map(endpoint => renderEndpoint(page, text, endpoint))}`],
    ['sizes', text.families.title, renderFamilies(page, text)],
    ['errors', text.errors.title, renderErrors(language, text)],
    ['limits', text.limits.title, renderLimits(text)],
    ['retries', text.retries.title, renderRetries(text)],
    ['console', text.console.title, renderConsole(text, consoles)],
  ]
  const main = html`
    <div class="reference">
      <nav class="contents" aria-label="${text.contents}">
        <ul>${chapters.map(
          ([id, title]) => html`
          <li><a href="#${id}">${title}</a>${
            id === 'endpoints' &&
            html`<ul>${ours.map(one => html`<li><a href="#${one.id}">${breakPath(one.path)}</a></li>`)}</ul>`
          }</li>`,
        )}</ul>
      </nav>
      <div class="chapters">
        <h1>${text.title}</h1>
        ${chapters.map(
          ([id, title, content]) => html`
          <section class="chapter" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`,
        )}
      </div>
    </div>`
  return renderFrame({ language, title: text.title, description: text.description, path: '/docs', main })
}

/** A path that a narrow column may break where its parts end. */
function breakPath(path: string): readonly Html[] {
  return path.split(/(?<=[/:])/).map((part, i) => html`${i > 0 && html`<wbr>`}${part}`)
}

function renderStart({ baseUrl }: DocsPage, { start }: DocsWords): Html {
  const rows = [
    [start.styles.openai, `${baseUrl}/v1`, 'Authorization: Bearer <API_KEY>'],
    [start.styles.anthropic, baseUrl, 'x-api-key: <API_KEY>'],
    [start.styles.google, baseUrl, 'x-goog-api-key: <API_KEY>'],
  ].map(([style, base, header]) => [style, html`<code>${base}</code>`, html`<code>${header}</code>`])
  return html`
    <p>${start.keys}</p>
    <div class="card">${renderTable(start.table, [start.style, start.base, start.header], rows)}</div>
    <p><a href="/openapi.json">${start.document}</a></p>`
}

function renderEndpoint({ api }: DocsPage, text: DocsWords, { id, method, path, operation }: Endpoint): Html {
  const { summary, description = '', parameters = [], requestBody, 'x-models': models = [] } = operation
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const isUpstream = requestBody !== undefined
  return html`
    <article class="card operation" aria-labelledby="${id}">
      <header><h3 id="${id}">${summary}</h3></header>
      <p class="path"><span class="method">${method}</span> <span>${path}</span> ${type && html`<span class="kind">${type}</span>`}</p>
      ${description !== '' && html`<p>${description}</p>`}
      ${isUpstream && html`<p><span class="quiet">${text.models}</span> ${models.length > 0 ? models.map((name, i) => html`${i > 0 && ', '}<code>${name}</code>`) : text.noModel}</p>`}
      ${
        parameters.length > 0 &&
        html`<h4>${text.parameters}</h4>${renderTable(
          `${summary}: ${text.parameters}`,
          [text.field, text.about],
          parameters.map(one => [fieldName(one.name, one.required === true, text), one.description]),
        )}`
      }
      ${
        media &&
        html`<h4>${text.fields}</h4>${renderFields(`${summary}: ${text.fields}`, text, media.schema)}
          <p class="quiet">${text.otherFields}</p>`
      }
      <details><summary>${text.answers}</summary>${renderAnswers(api, text, operation)}</details>
      ${renderSamples(operation['x-codeSamples'] ?? [], text)}
    </article>`
}

function fieldName(name: string, required: boolean, text: DocsWords): Html {
  return html`<code>${name}</code>${required && html` <span class="required">${text.required}</span>`}`
}

function renderFields(caption: string, text: DocsWords, schema: SchemaObject): Html {
  const properties = (schema['properties'] ?? {}) as { readonly [name: string]: SchemaObject }
  const required = (schema['required'] ?? []) as readonly string[]
  const rows = Object.entries(properties).map(([name, field]) => [
    fieldName(name, required.includes(name), text),
    html`<span class="kind">${typeName(field, text)}</span>`,
    typeof field['description'] === 'string' && field['description'],
  ])
  return renderTable(caption, [text.field, text.type, text.about], rows)
}

function typeName(schema: SchemaObject, text: DocsWords): string {
  const { type, enum: values, items, contentMediaType } = schema
  if (contentMediaType) return text.file
  if (type === 'array' && items && 'contentMediaType' in (items as SchemaObject)) return text.files
  if (Array.isArray(values)) return values.join(' | ')
  return typeof type === 'string' ? type : text.any
}

function renderAnswers(api: ApiDocument, text: DocsWords, { summary, responses }: OperationObject): Html {
  const shared = api.components['responses'] as { readonly [name: string]: { readonly description: string } }
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description } =
      '$ref' in response ? (shared[response.$ref.split('/').at(-1) ?? ''] ?? { description: '' }) : response
    return [html`<code>${status}</code>`, description]
  })
  return renderTable(`${summary}: ${text.answers}`, [text.status, text.about], rows)
}

function renderSamples(samples: readonly CodeSample[], text: DocsWords): Html | false {
  return (
    samples.length > 0 &&
    html`
    <div class="samples"><h4>${text.samples}</h4>
      ${samples.map(
        ({ label, source }, i) => html`
        <details${i === 0 && html` open`}><summary>${label}</summary><pre tabindex="0"><code>${source}</code></pre></details>`,
      )}
    </div>`
  )
}

/** What callers should know of each family: its own notes, and for images what becomes of sizes. */
function renderFamilies({ language, plan, list }: DocsPage, text: DocsWords): Html {
  const prices = words[language].pricing
  const drawn = imageModels(list.models)
  const families = [...plan.families.values()].flatMap(family => {
    const models = list.models.filter(model => model.family === family.name)
    const first = drawn.find(model => model.family === family.name && model.images.sizes.length > 0)
    const notes = family.notes[language]
    if (models.length === 0 || (notes.length === 0 && !first)) return []
    return html`
      <article class="card" aria-labelledby="f-${family.name}">
        <header><h3 id="f-${family.name}">${prices.family(family.name)}</h3></header>
        <p class="quiet">${text.families.models(models.map(model => model.name))}</p>
        ${notes.length > 0 && html`<ul>${notes.map(note => html`<li>${note}</li>`)}</ul>`}
        ${first && html`<p>${prices.rule(first.images.tierFrom, first.images.otherwise)}</p>${renderSizes(prices, first, list.currency)}`}
      </article>`
  })
  return html`
    <p>${text.families.lead} <a href="/pricing?lang=${language}">${text.families.prices}</a></p>
    ${families}`
}

function renderErrors(language: Language, { errors, start, status, about }: DocsWords): Html {
  const rows = Object.entries(apiWords[language].errors).map(([code, meaning]) => [html`<code>${code}</code>`, meaning])
  const shapes = Object.entries(start.styles).map(([style, name]) => {
    const example = JSON.stringify(exampleOf(errorShapes[style] ?? {}), null, 2)
    return html`<h3>${errors.shape(name)}</h3><pre class="block" tabindex="0"><code>${example}</code></pre>`
  })
  return html`
    <p>${errors.lead}</p>
    <div class="card">${renderTable(errors.title, [status, about], rows)}</div>
    ${shapes}`
}

/** A value of a schema's shape, where each text says what it is. */
function exampleOf(schema: SchemaObject): unknown {
  const { type, properties, const: constant } = schema
  if (constant !== undefined) return constant
  if (properties)
    return Object.fromEntries(
      Object.entries(properties as { readonly [name: string]: SchemaObject }).map(([name, own]) => [
        name,
        exampleOf(own),
      ]),
    )
  if (type === 'integer') return 429
  if (type === 'array') return []
  return Array.isArray(type) ? null : '…'
}

function renderLimits({ limits }: DocsWords): Html {
  const rows = Object.entries(limits.rows).map(([header, meaning]) => [html`<code>${header}</code>`, meaning])
  return html`
    <p>${limits.lead}</p>
    <div class="card">${renderTable(limits.title, [limits.header, limits.meaning], rows)}</div>`
}

function renderRetries({ retries, status, about }: DocsWords): Html {
  return html`
    <p>${retries.lead}</p>
    <p>${retries.key}</p>
    <div class="card">${renderTable(
      retries.title,
      [status, about],
      retries.rows.map(([code, meaning]) => [html`<code>${code}</code>`, meaning]),
    )}</div>
    <p>${retries.charge}</p>`
}

function renderConsole({ console }: DocsWords, endpoints: readonly Endpoint[]): Html {
  const rows = endpoints.map(({ method, path, operation }) => [
    html`<code>${path}</code>`,
    html`<span class="method">${method}</span>`,
    operation.summary,
    console.who[operation['x-access'] ?? ''],
  ])
  return html`
    <p>${console.lead}</p>
    <div class="card">${renderTable(console.title, [console.path, console.method, console.use, console.access], rows)}</div>`
}
