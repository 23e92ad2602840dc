/** The simulated upstreams there are, told without loading what draws their pictures. */
export const simulatorNames = ['alpha', 'beta', 'text', 'gemini'] as const

export type SimulatorName = (typeof simulatorNames)[number]
