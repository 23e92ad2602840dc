import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

export type Option = {
  readonly value: string
  readonly text: string
  /** The kind or the owner of an option. */
  readonly note?: string
}

type ComboboxProps = {
  /** The id of the input, for its label. */
  readonly id: string
  readonly value: string
  /** The text for the value if it differs, such as the name for an id. */
  readonly valueText?: string
  readonly options: readonly Option[]
  readonly onPick: (value: string, option?: Option) => void
  /** Called with each typed text, for options that the gateway searches. */
  readonly onSearch?: (text: string) => void
  readonly placeholder?: string
  /** The form field with the value. */
  readonly name?: string
  /** Whether a text that is not an option is a valid value. */
  readonly isFree?: boolean
  /** Whether the field is emptied after a choice. */
  readonly isOnce?: boolean
  /** Whether the options open immediately, and Enter chooses the first match. */
  readonly isOpen?: boolean
  readonly more?: { readonly [attribute: string]: string | true }
}

const shownMax = 50
// The types require a `list` on an input with this role, but that belongs to the browser's own lists.
const kind = { type: 'search', role: 'combobox' } as { type: 'search' }

/**
 * A text field with a list of options that typed text filters. Arrow keys move in the list, Enter chooses, Escape
 * closes it (the combobox pattern of WAI-ARIA).
 */
export function Combobox({
  id,
  value,
  valueText = value,
  options,
  onPick,
  onSearch,
  placeholder,
  name,
  isFree = false,
  isOnce = false,
  isOpen = false,
  more = {},
}: ComboboxProps) {
  const list = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(valueText)
  const [open, setOpen] = useState(isOpen)
  const [typed, setTyped] = useState(false)
  const [at, setAt] = useState(-1)
  // Keeps the typed text: neither a name that arrives meanwhile nor a late effect replaces it.
  useLayoutEffect(() => {
    if (!typed) setText(valueText)
  }, [valueText])
  // Shows all options until something is typed.
  const shown = open ? matching(options, typed ? text : '').slice(0, shownMax) : []
  const close = () => {
    setOpen(false)
    setTyped(false)
    setAt(-1)
  }
  const pick = (option: Option) => {
    close()
    setText(isOnce ? '' : option.text)
    onPick(option.value, option)
  }
  const take = () => {
    const wanted = text.trim()
    const [same, ...others] = named(options, wanted)
    if (same && others.length === 0) return pick(same)
    close()
    // The gateway refuses what is typed in a form and is no option: the value of before would be sent unnoticed.
    if (wanted !== '' && !isFree && !name) return setText(valueText)
    if (isOnce) setText('')
    if (wanted !== valueText && (wanted !== '' || !isOnce)) onPick(wanted)
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      if (!open) setOpen(true)
      else if (shown.length > 0) setAt((at + step + shown.length + (at < 0 && step < 0 ? 1 : 0)) % shown.length)
    } else if (event.key === 'Enter' && (open || typed)) {
      event.preventDefault()
      if (shown[at]) pick(shown[at])
      else if (named(options, text.trim()).length > 1) setAt(0)
      else take()
    } else if (event.key === 'Escape' && open) {
      event.preventDefault()
      event.stopPropagation()
      close()
      setText(valueText)
    }
  }
  return (
    <div class="combobox">
      <input
        {...more}
        {...kind}
        {...(name && isFree && { name })}
        ref={input}
        id={id}
        autocomplete="off"
        spellcheck={false}
        aria-expanded={open && shown.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        {...(shown[at] && { 'aria-activedescendant': `${list}-${at}` })}
        {...(placeholder && { placeholder })}
        value={text}
        onInput={event => {
          setText(event.currentTarget.value)
          setTyped(true)
          setOpen(true)
          setAt(isOpen ? 0 : -1)
          onSearch?.(event.currentTarget.value.trim())
        }}
        onClick={() => setOpen(true)}
        onKeyDown={press}
        // In a form, the text becomes the value; a filter keeps its previous value.
        onBlur={() => (typed && !isOnce ? take() : close())}
      />
      {name && !isFree && <input type="hidden" name={name} value={value} />}
      <Options id={list} of={shown} at={at} labelledBy={id} onPick={pick} />
    </div>
  )
}

function Options({
  id,
  of,
  at,
  labelledBy,
  onPick,
}: {
  readonly id: string
  readonly of: readonly Option[]
  /** The index of the option for Enter; -1 for none. */
  readonly at: number
  readonly labelledBy: string
  readonly onPick: (option: Option) => void
}) {
  return (
    <ul id={id} role="listbox" class="options" hidden={of.length === 0} aria-labelledby={labelledBy}>
      {of.map((option, i) => (
        <li
          key={`${option.note ?? ''} ${option.value}`}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === at}
          // The input keeps the focus.
          onMouseDown={event => event.preventDefault()}
          onClick={() => onPick(option)}
          ref={element => void (i === at && element?.scrollIntoView({ block: 'nearest' }))}
        >
          <span class="theirs">{option.text}</span>
          {option.note && <span class="quiet"> {option.note}</span>}
        </li>
      ))}
    </ul>
  )
}

/**
 * The options with a value or a text. Names that differ only by case may be of different users, and several keys may
 * have the same name: then the user chooses in the list.
 */
function named(options: readonly Option[], wanted: string): readonly Option[] {
  const tests: readonly ((one: Option) => boolean)[] = [
    one => one.value === wanted,
    one => one.text === wanted,
    one => one.text.toLowerCase() === wanted.toLowerCase(),
  ]
  return (wanted !== '' && tests.map(test => options.filter(test)).find(found => found.length > 0)) || []
}

/** Options that contain a text, those that begin with it first. */
function matching(options: readonly Option[], text: string): readonly Option[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return options
  const found = options.filter(one => `${one.text} ${one.value}`.toLowerCase().includes(wanted))
  const begins = ({ text: own }: Option): number => (own.toLowerCase().startsWith(wanted) ? 0 : 1)
  return found.toSorted((a, b) => begins(a) - begins(b))
}
