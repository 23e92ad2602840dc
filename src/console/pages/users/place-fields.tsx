import type { User } from '../../api/shapes.ts'
import { SelectField } from '../../kit/form.tsx'
import { PickField } from '../../kit/pick-field.tsx'
import { t } from '../../words/index.ts'

const roles = ['user', 'viewer', 'billing', 'admin'] as const satisfies readonly User['role'][]

/** The role of a user, and the group that decides limits and factors. */
export function PlaceFields({
  of = { role: 'user', group: 'default' },
}: {
  readonly of?: Pick<User, 'role' | 'group'>
}) {
  return (
    <div class="row">
      <SelectField
        name="role"
        label={t('role')}
        value={of.role}
        options={roles.map(role => [role, t(`role.${role}`)] as const)}
      />
      <PickField of="group" name="group" label={t('group')} value={of.group} />
    </div>
  )
}
