// How a phase ended, in the words and looks of every screen.

export const completedPhase = (membersFailed: number) =>
  membersFailed > 0
    ? { name: 'done, some failed', status: 'partial', look: 'warn' }
    : { name: 'done', status: 'completed', look: 'good' }
