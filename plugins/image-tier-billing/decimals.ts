/** Whether a factor makes dearer. */
export function raises(factor: string): boolean {
  return Number(factor) > 1
}
