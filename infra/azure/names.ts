/** Names and ids of what the template makes, as expressions without their brackets. All depend on the parameter `name` alone. */

export const parameter = (name: string): string => `[parameters('${name}')]`;
export const named = (suffix: string): string => `[concat(parameters('name'), '${suffix}')]`;

/** Storage accounts have letters and digits only. */
export const storageName = "concat('st', uniqueString(resourceGroup().id, parameters('name')))";
/** Not the host's account: access to that one includes the app's code and keys. */
export const stateName = "concat('dt', uniqueString(resourceGroup().id, parameters('name')))";

const inState = (type: string, name: string): string =>
  `resourceId('Microsoft.Storage/storageAccounts/${type}', ${stateName}, 'default'${name && `, '${name}'`})`;

export const ids = {
  namespace: "resourceId('Microsoft.ServiceBus/namespaces', parameters('name'))",
  storage: `resourceId('Microsoft.Storage/storageAccounts', ${storageName})`,
  state: `resourceId('Microsoft.Storage/storageAccounts', ${stateName})`,
  tables: inState('tableServices', ''),
  blobs: inState('blobServices', ''),
  table: inState('tableServices/tables', 'jobs'),
  claims: inState('blobServices/containers', 'claims'),
  shop: inState('blobServices/containers', 'shop'),
  logs: "resourceId('Microsoft.OperationalInsights/workspaces', concat(parameters('name'), '-logs'))",
  insights: "resourceId('Microsoft.Insights/components', concat(parameters('name'), '-insights'))",
  plan: "resourceId('Microsoft.Web/serverfarms', concat(parameters('name'), '-plan'))",
  site: "resourceId('Microsoft.Web/sites', concat(parameters('name'), '-app'))",
} as const;
