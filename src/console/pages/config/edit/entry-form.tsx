import { useState } from 'preact/hooks'
import { useSession } from '../../../api/session.ts'
import type { Editable } from '../../../api/shapes.ts'
import { Button } from '../../../kit/button.tsx'
import { Dialog } from '../../../kit/dialog.tsx'
import { Form, SelectField, TextField } from '../../../kit/form.tsx'
import { t } from '../../../words/index.ts'
import { isBelow, type Path, type Value } from './changes.ts'
import { useDraft } from './draft.ts'
import { type Entry, type EntryField, fieldsOf, type Section } from './fields.ts'
import { Place } from './place.tsx'
import { tryChanges } from './try-changes.ts'
import { changedLines } from './value-lines.ts'
import { readChanges } from './wanted.ts'

/** The editable settings of a model or a group; changes are collected, and nothing is written. */
export function EntryForm({
  section,
  entry,
  editable,
  main,
  onClose,
}: {
  readonly section: Section
  readonly entry: Entry
  readonly editable: Editable
  /** The main file of the configuration. */
  readonly main: string
  readonly onClose: () => void
}) {
  const { gateway } = useSession()
  const { changes, stage } = useDraft()
  const root: Path = [section, entry.name]
  // The fields show the changes that were collected before the form was opened.
  const [groups] = useState(() => fieldsOf(section, entry, editable, changes, gateway.currency))
  const fields = groups.flatMap(group => group.fields)
  const others = changes.filter(({ path }) => !isBelow(path, root))
  return (
    <Dialog drawer title={<span class="theirs">{entry.name}</span>} onClose={onClose}>
      <p class="quiet">
        {t('edit.stands')} <Place of={entry} main={main} linked={false} />
      </p>
      <Form
        submit={t('edit.gather')}
        onCancel={onClose}
        onSubmit={async values => {
          const wanted = readChanges(entry, fields, values.get)
          if (wanted.length > 0) await tryChanges(others, wanted, new Map(fields.map(({ name }) => [name, name])))
          stage(root, wanted)
          onClose()
        }}
      >
        {groups.map(({ title, hint, fields }) => (
          <fieldset key={title} class="form">
            <legend>
              <h3>{title}</h3>
            </legend>
            {hint && <p class="hint">{hint}</p>}
            <div class="row">
              {fields.map(field => (
                <OneField key={field.name} of={field} />
              ))}
            </div>
          </fieldset>
        ))}
      </Form>
      {section === 'models' && (
        <Removal
          onRemove={() => {
            stage(root, [{ path: root, was: entry.whole as Value }])
            onClose()
          }}
        />
      )}
    </Dialog>
  )
}

function OneField({ of: { name, label, kind, text, hint, options = [] } }: { readonly of: EntryField }) {
  const shared = { name, label, value: text, ...(hint !== undefined && { hint }) }
  if (kind === 'choice' || kind === 'day') {
    // The file's current value is always valid.
    const known = options.some(([value]) => value === text) ? options : [...options, [text, text] as const]
    return <SelectField {...shared} options={known} />
  }
  const inputMode = kind === 'decimal' || kind === 'number' ? 'decimal' : 'numeric'
  return <TextField {...shared} {...(kind !== 'text' && { inputMode })} />
}

function Removal({ onRemove }: { readonly onRemove: () => void }) {
  return (
    <details>
      <summary>{t('edit.remove')}</summary>
      <div class="stack tight">
        <p class="quiet">{t('edit.remove.text')}</p>
        <div>
          <Button kind="danger" onClick={onRemove}>
            {t('edit.remove.gather')}
          </Button>
        </div>
      </div>
    </details>
  )
}

/** A value before and after: plain values on one line each, others as the lines that differ. */
export function BeforeAfter({ was, value }: { readonly was: Value | undefined; readonly value: Value | undefined }) {
  const lines = changedLines(was, value)
  return (
    <span class={lines.length > 2 ? 'theirs lines' : 'theirs'}>
      {lines.map(({ kind, text }) => (
        <span key={`${kind} ${text}`}>
          <span class="unseen">{t(kind === 'gone' ? 'edit.was' : 'edit.becomes')} </span>
          {kind === 'gone' ? <del>{text}</del> : <ins>{text}</ins>}{' '}
        </span>
      ))}
    </span>
  )
}
