import type { Run } from '../call.ts';
import { unavailable } from './find.ts';

export const listAlerts: Run = async ({ client }) => {
  const { app } = client;
  if (!app.alerts)
    return unavailable('The app has no alerts: give createApp() some of defineAlerts() of longshore/alerts.');
  const { alertStates } = await import('../../../features/alerts/show.ts');
  const { alerts } = await alertStates(app.alerts, client);
  return alerts;
};
