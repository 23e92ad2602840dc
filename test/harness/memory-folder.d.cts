export function useMemoryFolder(): void
export function removeMemoryFolders(): void
