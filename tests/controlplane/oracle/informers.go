package main

import (
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	appsv1 "k8s.io/api/apps/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// static is an informer over a fixed set of objects: handlers are called as they are added, so
// nothing has to be started and nothing to be waited for.
type static struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
}

type synced struct{ done chan struct{} }

func (s synced) HasSynced() bool                     { return true }
func (s synced) HasSyncedChecker() cache.DoneChecker { return s }
func (s synced) Name() string                        { return "static" }
func (s synced) Done() <-chan struct{}               { return s.done }

func isSynced() synced {
	done := make(chan struct{})
	close(done)
	return synced{done: done}
}

func (s *static) replay(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, object := range s.indexer.List() {
		handler.OnAdd(object, true)
	}
	return isSynced(), nil
}

func (s *static) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.replay(handler)
}

func (s *static) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.replay(handler)
}

func (s *static) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s.replay(handler)
}

func (s *static) HasSynced() bool                           { return true }
func (s *static) HasSyncedChecker() cache.DoneChecker       { return isSynced() }
func (s *static) GetStore() cache.Store                     { return s.indexer }
func (s *static) GetIndexer() cache.Indexer                 { return s.indexer }
func (s *static) AddIndexers(indexers cache.Indexers) error { return s.indexer.AddIndexers(indexers) }
func (s *static) SetTransform(_ cache.TransformFunc) error  { return nil }

var kinds = []runtime.Object{
	&v1.Pod{}, &v1.Node{}, &v1.Service{}, &v1.ReplicationController{}, &v1.Namespace{},
	&v1.PersistentVolumeClaim{}, &v1.PersistentVolume{}, &appsv1.ReplicaSet{},
	&appsv1.StatefulSet{}, &storagev1.StorageClass{}, &storagev1.CSINode{},
	&storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{},
	&resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{},
}

// staticFactory gives informers that know these objects and no others.
func staticFactory(objects []runtime.Object) (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	byType := map[reflect.Type]cache.Indexer{}
	for _, kind := range kinds {
		indexer := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		byType[reflect.TypeOf(kind)] = indexer
		factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return &static{indexer: indexer}
		})
	}
	for _, object := range objects {
		if indexer, ok := byType[reflect.TypeOf(object)]; ok {
			if err := indexer.Add(object); err != nil {
				return nil, err
			}
		}
	}
	return factory, nil
}
