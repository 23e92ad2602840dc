import type { ComponentChildren } from 'preact'
import type { DocsPage } from '../../admin/pages/page-data.ts'
import { ConsoleApi, Errors, Families, Limits, Retries, Start } from './chapters.tsx'
import { Document } from './document.tsx'
import { Endpoint, type EndpointOf, endpointsOf } from './endpoint.tsx'
import { t } from './words.ts'

/** The address of this page's script in the build. */
declare const REFERENCE_SCRIPT: string

type Chapter = readonly [id: string, title: string, content: ComponentChildren]

/** Chapters for clients, with every endpoint, and the contents next to them. */
export function Reference({ of }: { readonly of: DocsPage }) {
  const endpoints = endpointsOf(of.api)
  const ours = endpoints.filter(({ operation }) => operation.tags.includes('gateway'))
  const consoles = endpoints.filter(({ operation }) => operation.tags.includes('console'))
  const chapters: readonly Chapter[] = [
    ['start', t('docs.start'), <Start key="start" baseUrl={of.baseUrl} />],
    ['endpoints', t('docs.endpoints'), ours.map(one => <Endpoint key={one.id} of={one} api={of.api} />)],
    ['sizes', t('docs.sizes'), <Families key="sizes" of={of} />],
    ['errors', t('docs.errors'), <Errors key="errors" of={of} />],
    ['limits', t('limits'), <Limits key="limits" />],
    ['retries', t('docs.retries'), <Retries key="retries" />],
    ['console', t('docs.console'), <ConsoleApi key="console" endpoints={consoles} />],
  ]
  return (
    <Document title={t('nav.docs')} description={t('docs.description')} path="/docs" script={REFERENCE_SCRIPT}>
      <div
        class="reference"
        data-copy={t('copy')}
        data-copied={t('copied')}
        data-failed={t('copy.failed')}
        data-samples={t('snippets')}
      >
        <nav class="contents" aria-label={t('docs.contents')}>
          <ul>
            {chapters.map(([id, title]) => (
              <li key={id}>
                <a href={`#${id}`}>{title}</a>
                {id === 'endpoints' && <Paths of={ours} />}
              </li>
            ))}
          </ul>
        </nav>
        <div class="chapters">
          <h1>{t('nav.docs')}</h1>
          {chapters.map(([id, title, content]) => (
            <section key={id} class="chapter" aria-labelledby={id}>
              <h2 id={id}>{title}</h2>
              {content}
            </section>
          ))}
        </div>
      </div>
    </Document>
  )
}

/** Paths in a narrow column, with possible line breaks between their parts. */
function Paths({ of }: { readonly of: readonly EndpointOf[] }) {
  return (
    <ul>
      {of.map(({ id, path }) => (
        <li key={id}>
          <a href={`#${id}`}>
            {path.split(/(?<=[/:])/).map((part, i) => (
              <>
                {i > 0 && <wbr />}
                {part}
              </>
            ))}
          </a>
        </li>
      ))}
    </ul>
  )
}
