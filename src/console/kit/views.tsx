import { useState } from 'preact/hooks'
import { queryText } from '../api/call.ts'
import { remember } from '../remember.ts'
import { nameMax, readViews, type View, viewsMax, withoutView, withView } from '../views.ts'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { Choices } from './choices.tsx'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { FieldError } from './field-error.ts'
import { Form, TextField } from './form.tsx'

type Change = (views: readonly View[]) => readonly View[]

/**
 * What a page was filtered by before and is wanted again, by name. `owner`: whose they are, of those who share a browser; `at`: the
 * address of the page; `query`: what it is filtered by now.
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
  const place = `views.${owner}.${at}`
  const [views, setViews] = useState(() => readViews(remember.text(place)))
  const [open, setOpen] = useState(false)
  const here = queryText(query)
  const current = views.find(view => view.query === here)
  if (views.length === 0 && here === '') return null
  const keep = (change: Change): void => {
    // Another tab may have kept one meanwhile.
    const kept = remember.text(place)
    const next = change(kept === undefined ? views : readViews(kept))
    setViews(next)
    remember.write(place, JSON.stringify(next))
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
  readonly of: View | undefined
  readonly isFull: boolean
  readonly onKeep: (change: Change) => void
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t(of ? 'views.edit' : 'views.save')} onClose={onClose}>
      <p class="quiet">{t('views.text')}</p>
      <Form
        submit={t('save')}
        onCancel={onClose}
        onSubmit={values => {
          const name = values.get('name').trim()
          if (name === '' || name.length > nameMax) throw new FieldError('name', t('views.length', { max: nameMax }))
          if (isFull && !of) throw new FieldError('name', t('views.full', { max: viewsMax }))
          onKeep(views => withView(views, { name, query: here }, of?.name))
        }}
      >
        <TextField name="name" label={t('views.name')} hint={t('views.name.hint')} value={of?.name ?? ''} />
      </Form>
      <div class="inline">
        <Copy text={`${location.origin}${at}${here}`} label={t('views.link')} />
        {of && (
          <Button kind="danger" onClick={() => onKeep(views => withoutView(views, of.name))}>
            {t('views.delete')}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
