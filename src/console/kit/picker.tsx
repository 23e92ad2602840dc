import { type Pickable, useGroupPicks, useKeyPicks, useModelPicks, useUserPicks } from '../api/pickers.ts'
import { Combobox, type Option } from './combobox.tsx'

type PickerProps = {
  readonly id: string
  readonly of: Pickable
  readonly value: string
  readonly valueText?: string
  readonly onPick: (value: string, option?: Option) => void
  readonly name?: string
  /** Whether a name outside the list is valid, such as the name of a deleted resource. */
  readonly isFree?: boolean
  readonly placeholder?: string
  readonly more?: { readonly [attribute: string]: string | true }
}

/** A model, user, key or group, found by a part of its name. */
export function Picker({ of, ...rest }: PickerProps) {
  if (of === 'key') return <KeyPicker {...rest} />
  if (of === 'user') return <UserPicker {...rest} />
  return of === 'group' ? <GroupPicker {...rest} /> : <ModelPicker {...rest} />
}

type Rest = Omit<PickerProps, 'of'>

function KeyPicker(rest: Rest) {
  const { options, search } = useKeyPicks()
  const named = options.find(({ value }) => value === rest.value)
  return <Combobox {...rest} {...(named && { valueText: named.text })} options={options} onSearch={search} />
}

function UserPicker(rest: Rest) {
  const { options, search } = useUserPicks()
  return <Combobox {...rest} options={options} onSearch={search} />
}

function GroupPicker(rest: Rest) {
  return <Combobox {...rest} options={useGroupPicks()} />
}

function ModelPicker(rest: Rest) {
  return <Combobox {...rest} options={useModelPicks()} />
}
