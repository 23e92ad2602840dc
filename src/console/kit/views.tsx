import { useEffect, useState } from 'preact/hooks'
import { call, queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import type { SavedView, SavedViews } from '../api/shapes.ts'
import { remember } from '../remember.ts'
import { missingViews, nameMax, readViews, type View, viewsMax } from '../views.ts'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { Choices } from './choices.tsx'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { FieldError } from './field-error.ts'
import { Form, TextField } from './form.tsx'
import { faultText } from './problem.tsx'
import { say } from './toast.tsx'

type Change = { readonly put: View; readonly before: string | undefined } | { readonly remove: SavedView }

/**
 * Saved filters of a page, by name: the gateway stores them for the signed-in user. `owner`: the user; `at`: the
 * address of the page; `query`: its current filter.
 */
export function Views({
  owner,
  at,
  query,
}: {
  readonly owner: string
  readonly at: string
  readonly query: { readonly [name: string]: string }
}) {
  const load = useLoad<SavedViews>('/account/views')
  const [open, setOpen] = useState(false)
  const { value, put } = load
  useEffect(() => {
    if (value) void takeOver(owner, at, value).then(taken => taken && put(taken))
  }, [owner, at, value])
  const here = queryText(query)
  const views = (value?.views ?? []).filter(({ page }) => page === at)
  const current = views.find(view => view.query === here)
  if (!value || (views.length === 0 && here === '')) return null
  const keep = async (change: Change): Promise<void> => {
    if ('put' in change) put(await keepView(at, change.put, change.before))
    else {
      await call(`/account/views/${change.remove.id}`, { method: 'DELETE' })
      put({ views: value.views.filter(({ id }) => id !== change.remove.id) })
    }
    setOpen(false)
  }
  return (
    <nav class="inline" aria-label={t('views')}>
      {views.length > 0 && (
        <Choices
          label={t('views')}
          of={views.map(({ name }) => [name, name])}
          chosen={current?.name ?? null}
          hrefOf={name => at + (views.find(view => view.name === name)?.query ?? '')}
        />
      )}
      {here !== '' && <Button onClick={() => setOpen(true)}>{t(current ? 'views.edit' : 'views.save')}</Button>}
      {open && (
        <ViewForm
          at={at}
          here={here}
          of={current}
          isFull={views.length >= viewsMax}
          onKeep={keep}
          onClose={() => setOpen(false)}
        />
      )}
    </nav>
  )
}

function sayProblem(error: unknown): void {
  say(faultText(error), 'bad')
}

function keepView(page: string, { name, query }: View, before?: string): Promise<SavedViews> {
  const body = { page, name, query, ...(before !== undefined && { before }) }
  return call<SavedViews>('/account/views', { method: 'POST', body })
}

/**
 * Moves views that this browser stored in earlier versions to the gateway, once. @returns all of them, if there were
 * any
 */
async function takeOver(owner: string, page: string, { views }: SavedViews): Promise<SavedViews | undefined> {
  const place = `views.${owner}.${page}`
  const kept = readViews(remember.text(place))
  if (kept.length === 0) return undefined
  const own = views.filter(view => view.page === page)
  let all: SavedViews | undefined
  try {
    for (const view of missingViews(kept, own)) all = await keepView(page, view)
    remember.forget(place)
  } catch {
    // They are moved the next time that the page is opened.
  }
  return all
}

function ViewForm({
  at,
  here,
  of,
  isFull,
  onKeep,
  onClose,
}: {
  readonly at: string
  readonly here: string
  readonly of: SavedView | undefined
  readonly isFull: boolean
  readonly onKeep: (change: Change) => Promise<void>
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t(of ? 'views.edit' : 'views.save')} onClose={onClose}>
      <p class="quiet">{t('views.text')}</p>
      <Form
        submit={t('save')}
        onCancel={onClose}
        onSubmit={async values => {
          const name = values.get('name').trim()
          if (name === '' || name.length > nameMax)
            throw new FieldError('name', () => t('views.length', { max: nameMax }))
          if (isFull && !of) throw new FieldError('name', () => t('views.full', { max: viewsMax }))
          await onKeep({ put: { name, query: here }, before: of?.name })
        }}
      >
        <TextField name="name" label={t('views.name')} hint={t('views.name.hint')} value={of?.name ?? ''} />
      </Form>
      <div class="inline">
        <Copy text={`${location.origin}${at}${here}`} label={t('views.link')} />
        {of && (
          <Button kind="danger" onClick={() => onKeep({ remove: of }).catch(sayProblem)}>
            {t('views.delete')}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
