import { type ComponentChildren, createContext } from 'preact'
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { dateLimits, Dates } from './dated.tsx'
import { FieldError } from './field-error.ts'
import { problemText } from './problem.tsx'
import { useOneAction } from './use-one-action.ts'

type Refusal = { readonly field: string | null; readonly text: () => string }

const FormRefusal = createContext<Refusal | null>(null)

/** The texts of a form's fields, without files. */
export type Values = {
  readonly get: (name: string) => string
  readonly has: (name: string) => boolean
  /** Whether the user changed one of these fields. Others are not sent: someone else may have changed them since. */
  readonly isChanged: (of: (name: string) => boolean) => boolean
}

type FormProps = {
  /** Errors are shown next to their field, or above the button if they have none. */
  readonly onSubmit: (values: Values) => Promise<void> | void
  readonly submit: string
  readonly kind?: 'primary' | 'danger'
  /** Whether an earlier submission is still in progress. */
  readonly isBusy?: boolean
  readonly onCancel?: () => void
  /** The form's name of an API field, if it differs. */
  readonly fieldOf?: (field: string) => string
  readonly children?: ComponentChildren
}

export function Form({
  onSubmit,
  submit,
  kind = 'primary',
  isBusy = false,
  onCancel,
  fieldOf = innermost,
  children,
}: FormProps) {
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [busy, run] = useOneAction()
  const form = useRef<HTMLFormElement>(null)
  const given = useRef(new FormData())
  useLayoutEffect(() => {
    if (form.current) given.current = new FormData(form.current)
  }, [])
  const send = async () => {
    if (isBusy || !form.current) return
    setRefusal(null)
    try {
      refuseIncomplete(form.current)
      await onSubmit(readValues(new FormData(form.current), given.current))
    } catch (error) {
      const found = readRefusal(error, form.current, fieldOf)
      setRefusal(found)
      if (found.field) (form.current.elements.namedItem(found.field) as HTMLElement | null)?.focus?.()
    }
  }
  const submitted = (event: Event) => {
    event.preventDefault()
    void run(send)
  }
  return (
    <form ref={form} class="form" onSubmit={submitted} noValidate>
      <FormRefusal.Provider value={refusal}>{children}</FormRefusal.Provider>
      {refusal && refusal.field === null && (
        <p class="refusal" role="alert">
          {refusal.text()}
        </p>
      )}
      <div class="form-end">
        {onCancel && <Button onClick={onCancel}>{t('cancel')}</Button>}
        <Button type="submit" kind={kind} busy={busy || isBusy}>
          {submit}
        </Button>
      </div>
    </form>
  )
}

/** `given`: the fields as the form opened. */
function readValues(fields: FormData, given: FormData): Values {
  const textIn = (form: FormData, name: string): string => {
    const value = form.get(name)
    return typeof value === 'string' ? value : ''
  }
  return {
    has: name => fields.has(name),
    get: name => textIn(fields, name),
    isChanged: of =>
      [...fields.keys(), ...given.keys()].some(name => of(name) && textIn(fields, name) !== textIn(given, name)),
  }
}

/** A browser gives an incomplete date the value of an empty one. @throws FieldError */
function refuseIncomplete({ elements }: HTMLFormElement): void {
  for (const one of elements)
    if (one instanceof HTMLInputElement && one.validity.badInput)
      throw new FieldError(one.name, () => t('date.incomplete'))
}

/** The API returns limits as an object; a form has a field for each. */
function innermost(field: string): string {
  return field.replace(/^limits\./, '').replace(/\.\d+$/, '')
}

function readRefusal(error: unknown, form: HTMLFormElement, fieldOf: (field: string) => string): Refusal {
  if (error instanceof FieldError) return { field: error.field, text: error.text }
  if (!(error instanceof ApiError)) throw error
  const field = error.field === null ? null : fieldOf(error.field)
  const known = field !== null && form.elements.namedItem(field) !== null
  return { field: known ? field : null, text: () => problemText(error) }
}

export type FieldProps = {
  readonly name: string
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
}

/** A label, its control, a hint, and an error. */
export function Field({
  name,
  label,
  hint,
  children,
}: FieldProps & {
  readonly children: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ComponentChildren
}) {
  const id = useId()
  const refusal = useContext(FormRefusal)
  const wrong = refusal?.field === name ? refusal.text() : null
  const described = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described !== '' && { 'aria-describedby': described }),
        ...(wrong !== null && { 'aria-invalid': true }),
      })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {wrong !== null && (
        <p class="refusal" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  )
}

type TextProps = FieldProps & {
  readonly type?: 'text' | 'password' | 'datetime-local'
  /** The meaning of an empty date. */
  readonly empty?: string
  readonly value?: string
  readonly autocomplete?: string
  readonly list?: readonly string[]
  readonly inputMode?: 'decimal' | 'numeric'
  readonly onInput?: (value: string) => void
}

/** A line of text. `list` suggests values; others are valid too. */
export function TextField({
  name,
  label,
  hint,
  list,
  value,
  type = 'text',
  empty,
  autocomplete = 'off',
  inputMode,
  onInput,
}: TextProps) {
  const listId = useId()
  // The types distinguish inputs by their other attributes, but these are common to all.
  const kind = { type } as { type: 'text' }
  return (
    <Field name={name} label={label} hint={hint}>
      {ids => (
        <>
          <Dates type={type} value={value ?? ''} empty={empty}>
            <input
              {...ids}
              {...kind}
              {...dateLimits[type]}
              name={name}
              {...(inputMode && { inputMode })}
              autocomplete={autocomplete}
              spellcheck={false}
              {...(list && { list: listId })}
              {...(onInput
                ? { value: value ?? '', onInput: event => onInput(event.currentTarget.value) }
                : { defaultValue: value ?? '' })}
            />
          </Dates>
          {list && (
            <datalist id={listId}>
              {list.map(one => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

export function AreaField({
  name,
  label,
  hint,
  value,
  rows = 3,
  onInput,
  code = false,
}: FieldProps & {
  readonly value?: string
  readonly rows?: number
  readonly code?: boolean
  readonly onInput?: (value: string) => void
}) {
  return (
    <Field name={name} label={label} hint={hint}>
      {ids => (
        <textarea
          {...ids}
          name={name}
          rows={rows}
          class={code ? 'code' : ''}
          spellcheck={!code}
          {...(onInput
            ? { value: value ?? '', onInput: event => onInput(event.currentTarget.value) }
            : { defaultValue: value ?? '' })}
        />
      )}
    </Field>
  )
}

/** A choice among several options: pairs of value and text. */
export function SelectField({
  name,
  label,
  hint,
  value,
  options,
  onInput,
}: FieldProps & {
  readonly value?: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onInput?: (value: string) => void
}) {
  return (
    <Field name={name} label={label} hint={hint}>
      {ids => (
        <select {...ids} name={name} {...(onInput && { onChange: event => onInput(event.currentTarget.value) })}>
          {options.map(([one, text]) => (
            <option key={one} value={one} selected={one === (value ?? '')}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function FileField({
  name,
  label,
  hint,
  multiple = false,
  accept,
  onFiles,
}: FieldProps & {
  readonly multiple?: boolean
  readonly accept?: string
  readonly onFiles: (files: readonly File[]) => void
}) {
  return (
    <Field name={name} label={label} hint={hint}>
      {ids => (
        <span class="file">
          <input
            {...ids}
            type="file"
            name={name}
            multiple={multiple}
            {...(accept && { accept })}
            onChange={event => onFiles([...(event.currentTarget.files ?? [])])}
          />
          {/* The input is transparent: its own words are in the browser's language instead of the console's. */}
          <span class="button" aria-hidden="true">
            {t(multiple ? 'files.choose' : 'file.choose')}
          </span>
        </span>
      )}
    </Field>
  )
}
